package pvi

import (
	"math"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/internal/testing/scalestudy"
	"fedpvi/pvi/method/change"
	"fedpvi/pvi/study"
)

func TestProtocolBindsScale(t *testing.T) {
	st := scalestudy.Parse(t, scalestudy.Record, "", "")
	roster := []ClientID{"a", "b"}
	if _, err := NewProtocol(st, roster); err == nil || !strings.Contains(err.Error(), "has to be found first") {
		t.Errorf("a protocol without a scale: %v", err)
	}
	seen := map[Digest]bool{}
	scales := [][]study.Bounds{st.PublicScale(), {{Low: -1, High: 1}, {Low: -2, High: 2}}, {{Low: -1, High: 1}, {Low: -2, High: math.Nextafter(2, 3)}}}
	for _, bounds := range scales {
		scaled, err := st.WithScale(bounds)
		check(t, err)
		p, err := NewProtocol(scaled, roster)
		check(t, err)
		seen[p.Digest()] = true
		if p.Before()[0].Digest() == p.Digest() {
			t.Error("a scaling has the identity of its rounds")
		}
	}
	if len(seen) != len(scales) {
		t.Errorf("%d scales have %d identities", len(scales), len(seen))
	}
}

// The passes of the scale phase cost their share of the target's μ², and the rounds the rest. The
// study as a whole costs a little less than its target.
func TestScaleIsPaidFor(t *testing.T) {
	for _, c := range []struct{ privacy, federation string }{
		{scalestudy.Record, ""},
		{scalestudy.Record + "\nadjacency = \"replace-one\"", ""},
		{scalestudy.Client, ""},
		{scalestudy.Client, "min_clients = 9\ncolluders = 4"},
		{scalestudy.Client + "\nadjacency = \"replace-one\"", "min_clients = 9"},
	} {
		st := scalestudy.Parse(t, c.privacy, "budget_share = 0.3\nrounds = 4", c.federation)
		st, err := st.WithScale(st.PublicScale())
		check(t, err)
		p, err := NewProtocol(st, rosterOf(10))
		check(t, err)
		target := accountant.GaussianMu(st.Privacy.Epsilon, st.Privacy.Delta)
		view, adjacency := p.Views()[0], st.Privacy.Adjacency
		total := 0.0 // sum of μ² over the passes
		for n := 1; n <= 4; n++ {
			m := p.Before()[0].Mechanism(n)
			sd := float64(m.ShareSigma()) * m.Lattice().Step() * math.Sqrt(float64(view.Shares))
			mu := adjacency.Factor() * m.Clip() / sd
			total += mu * mu
		}
		if math.Abs(total/(0.3*target*target)-1) > 1e-6 {
			t.Errorf("%s: the passes cost μ² = %g, want %g", c.privacy, total, 0.3*target*target)
		}
		profile, err := accountant.Account(p.Before()[0].EventFor(view.Shares, adjacency))
		if err != nil || math.Abs(profile.Mu()*profile.Mu()/total-1) > 1e-5 {
			t.Errorf("%s: μ = %g from the event, want %g as from the formula (error %v)", c.privacy, profile.Mu(), math.Sqrt(total), err)
		}
		// Costs covers both the rounds and the passes, for every view and adjacency.
		costs, err := p.Costs(p.Releases())
		check(t, err)
		if e := costs[0].Epsilon; e > st.Privacy.Epsilon || e < st.Privacy.Epsilon*(1-1e-6) {
			t.Errorf("%s: the study costs ε = %g, the target is %g", c.privacy, e, st.Privacy.Epsilon)
		}
		for _, cost := range costs {
			var squares float64
			for n := 1; n <= 4; n++ {
				m := p.Before()[0].Mechanism(n)
				mu := cost.Adjacency.Factor() * m.Clip() / (float64(m.ShareSigma()) * m.Lattice().Step() * math.Sqrt(float64(cost.View.Shares)))
				squares += mu * mu
			}
			m := mechanismOf(p)
			mu := cost.Adjacency.Factor() * m.Clip() / (float64(m.ShareSigma()) * m.Lattice().Step() * math.Sqrt(float64(cost.View.Shares)))
			squares += float64(p.Releases()) * mu * mu
			if math.Abs(cost.Mu*cost.Mu/squares-1) > 1e-5 {
				t.Errorf("%s, %s, %s: μ = %g, the formula gives %g", c.privacy, cost.View.Name, cost.Adjacency, cost.Mu, math.Sqrt(squares))
			}
		}
	}
}

// For published factors there are three costs, the claimed, the true and the proved one. All of
// them include the scale phase.
func TestScaleWithGivenNoise(t *testing.T) {
	roster := []ClientID{"a", "b", "c", "d"}
	privacy := "unit = \"client\"\nnoise_multiplier = 5\ndelta = 1e-3\nclip = 5"
	st := scalestudy.Parse(t, privacy, "noise_multiplier = 8", "")
	st.Inference.Factors = study.Published
	st, err := st.WithScale(st.PublicScale())
	check(t, err)
	p, err := NewProtocol(st, roster)
	check(t, err)
	if s := p.Before()[0].Mechanism(1).NoiseMultiplier(); s != 8 {
		t.Errorf("the noise multiplier of a pass is %g, want 8", s)
	}
	claimed, truth, sound, err := p.OutsideCosts(2)
	check(t, err)
	scale := 3.0 / 64
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"claimed", claimed.Mu, math.Sqrt(2.0/25 + scale)},
		{"true", truth.Mu, math.Hypot(change.PublishedMu(4, 2, 5, st.Inference.Damping.At), math.Sqrt(scale))},
		{"sound", sound.Mu, math.Sqrt(4 * (2.0/25 + scale))},
	} {
		if math.Abs(c.got/c.want-1) > 1e-6 {
			t.Errorf("the %s μ is %g, want %g", c.name, c.got, c.want)
		}
	}
}
