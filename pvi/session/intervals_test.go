package session

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

var version2 = study.Override{Key: "study.version", Value: "2"}

// A Result with point estimates has λ and the mean, but neither standard deviations nor a
// covariance. The Posterior does not even have λ, because one could compute standard deviations
// from it.
func TestPointEstimates(t *testing.T) {
	for _, c := range []struct{ privacy, inference, q string }{
		{recordPrivacy, steps, "diagonal"},
		{clientPrivacy, `solver = "conjugate"`, "full"},
	} {
		play := func(overrides ...study.Override) *house {
			h := newHouse(t, planeStudy(t, c.privacy, c.inference, "", overrides...), 3)
			h.finish()
			return h
		}
		before, after := play(), play(version2, study.Override{Key: "inference.intervals", Value: `"none"`})
		old, err := before.server.Result()
		check(t, err)
		r, err := after.server.Result()
		check(t, err)
		natural := after.server.rounds.Posterior()
		mean, _, err := after.server.course.protocol.Family().Marginals(natural)
		check(t, err)
		if r.Family != c.q || !slices.Equal(r.Natural, natural) || !slices.Equal(r.Mean, mean) {
			t.Errorf("λ is %v and the mean %v, want %v and %v", r.Natural, r.Mean, natural, mean)
		}
		if r.SD != nil || r.Covariance != nil || r.NoiseAware != nil || !slices.Contains(r.Notes, study.PointsNote) {
			t.Errorf("%+v", r)
		}
		sameText(t, after.server, r)
		p, err := Describe(after.study, r)
		check(t, err)
		text, err := json.Marshal(p)
		check(t, err)
		var members map[string]json.RawMessage
		check(t, json.Unmarshal(text, &members))
		if got := slices.Sorted(maps.Keys(members)); !slices.Equal(got, []string{"estimates", "natural_map", "result"}) {
			t.Errorf("the description has %v", got)
		}
		for _, spread := range []string{`sd"`, `q5"`, `"natural":`, "covariance", "2.5"} {
			if strings.Contains(string(text), spread) {
				t.Errorf("%s in %s", spread, text)
			}
		}
		if e := p.Estimates[1]; e.Value != r.Mean[1] || e.Name != r.Names[1] {
			t.Errorf("estimate %+v of mean %g", e, r.Mean[1])
		}
		var b strings.Builder
		check(t, p.Table(&b, false))
		if strings.Contains(b.String(), "sd") || strings.Contains(b.String(), "%") || !strings.Contains(b.String(), study.PointsNote) {
			t.Errorf("table\n%s", &b)
		}
		b.Reset()
		p, err = Describe(before.study, old)
		check(t, err)
		check(t, p.Table(&b, false))
		if !strings.Contains(b.String(), "Do not rely on these intervals") {
			t.Errorf("version 1\n%s", &b)
		}
	}
}

// A study of version 2 with a last round reports only the noise-aware posterior. If that round is
// void, it reports point estimates.
func TestOnePosteriorWithALastRound(t *testing.T) {
	inference := steps + "\nnoise_aware = \"one-step\""
	h, old := newHouse(t, planeStudy(t, recordPrivacy, inference, "", version2), 2), newHouse(t, planeStudy(t, recordPrivacy, inference, ""), 2)
	for range 4 {
		h.round()
		old.round()
	}
	r, err := h.server.Result()
	check(t, err)
	want, err := old.server.Result()
	check(t, err)
	a := want.NoiseAware
	// The standard deviations are averages over draws, whose seed depends on the study's digest. They
	// therefore differ a little.
	near := func(x, y float64) bool { return math.Abs(x/y-1) < .05 }
	if r.NoiseAware != nil || !slices.Equal(r.Mean, a.Mean) || !slices.EqualFunc(r.SD, a.SD, near) || len(r.Covariance) != 2 || !slices.Equal(r.Natural, want.Natural) {
		t.Errorf("%+v, want the posterior %+v", r, a)
	}
	if p, err := Describe(h.study, r); err != nil || len(p.Prior) != 2 || p.Prior[1].Posterior.SD != r.SD[1] {
		t.Errorf("%+v, %v", p, err)
	}
	if !strings.Contains(r.Notes[0], "by one-step") {
		t.Errorf("notes %q", r.Notes)
	}
	void := newHouse(t, planeStudy(t, recordPrivacy, inference, "", version2), 2)
	for range 3 {
		void.round()
	}
	ask := void.next().Plan
	void.send(0)
	void.close(ask)
	r, err = void.sites[0].Result()
	check(t, err)
	if p, err := Describe(void.study, r); err != nil || p.Estimates == nil || p.Marginals != nil || len(r.Notes) != 1 {
		t.Errorf("after a void last round: %+v, %v", r, err)
	}
}
