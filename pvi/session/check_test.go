package session

import (
	"errors"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Check reports a deviation if the records have different outcomes, and none if they fit. With
// point estimates there is no posterior to draw outcomes from.
func TestCheck(t *testing.T) {
	h := newHouse(t, planeStudy(t, noPrivacy, "", "", version2), 2)
	h.finish()
	r, err := h.sites[0].Result()
	check(t, err)
	p, err := Describe(h.study, r)
	check(t, err)
	other := new(shard.Records)
	for i := range 40 {
		other.Append([]float64{float64(i%7)/3.5 - 1, 2})
	}
	for _, c := range []struct {
		name    string
		records *shard.Records
		outside bool
	}{{"own records", h.records[0], false}, {"other records", other, true}} {
		checks, err := p.Check(c.records, seeded.Stream(1, "check"))
		check(t, err)
		if first := checks[0]; first.Statistic != "mean" || (first.Observed < first.Low || first.Observed > first.High) != c.outside {
			t.Errorf("%s: %+v", c.name, first)
		}
	}
	p, err = Describe(planeStudy(t, noPrivacy, "", "", version2, study.Override{Key: "inference.intervals", Value: `"none"`}), r)
	check(t, err)
	if _, err := p.Check(h.records[0], seeded.Stream(1, "check")); !errors.Is(err, ErrNoPosterior) {
		t.Errorf("point estimates: %v", err)
	}
}
