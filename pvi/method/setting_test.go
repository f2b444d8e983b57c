package method

import (
	"slices"
	"testing"

	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// PriorAt computes elements of a prior that is too long to be kept.
func TestPriorThatIsNotKept(t *testing.T) {
	st, err := study.Parse("line.toml", linestudy.Document(linestudy.Parts{
		Privacy: "unit = \"client\"\nnoise_multiplier = 0.05\ndelta = 1e-5\nclip = 60", Inference: "rounds = 6\nq = \"diagonal\"",
	}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSetting(st, phase.Roster{Clients: []phase.ClientID{"a", "b"}, Fewest: 2}, phase.Digest{})
	if err != nil {
		t.Fatal(err)
	}
	names := s.Model.Names()
	st.Prior.Coefficients = map[string]study.Normal{names[0]: {Mean: 0.3, SD: 0.7}, names[1]: {Mean: -2, SD: 3}}
	if s.Model, err = fit.New(st); err != nil {
		t.Fatal(err)
	}
	if s.prior, err = s.Model.Prior(s.Family); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(s.Prior())
	s.prior = nil
	if len(want) != 4 || !slices.Equal(s.Prior(), want) {
		t.Errorf("the prior is %v, and was %v", s.Prior(), want)
	}
	for i, x := range want {
		if got := s.PriorAt(i); got != x {
			t.Errorf("element %d is %v, want %v", i, got, x)
		}
	}
}
