package pvi

import (
	"slices"
	"testing"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/study"
)

// Elements of a prior that is not kept are those that the family makes of it.
func TestAPriorThatIsNotKept(t *testing.T) {
	p := protocolOf(t, 2, clientPrivacy, `q = "diagonal"`, "")
	st, names := *p.study, p.model.Names()
	st.Prior.Coefficients = map[string]study.Normal{names[0]: {Mean: 0.3, SD: 0.7}, names[1]: {Mean: -2, SD: 3}}
	var err error
	if p.model, err = fit.New(&st); err != nil {
		t.Fatal(err)
	}
	if p.prior, err = p.model.Prior(p.family); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(p.Prior())
	p.prior = nil
	if len(want) != 4 || !slices.Equal(p.Prior(), want) {
		t.Errorf("the prior is %v, and was %v", p.Prior(), want)
	}
	for i, x := range want {
		if got := p.priorAt(i); got != x {
			t.Errorf("element %d is %v, want %v", i, got, x)
		}
	}
}
