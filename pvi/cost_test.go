package pvi

import (
	"math"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/change"
	"fedpvi/pvi/study"
)

func protocolOf(t *testing.T, clients int, privacy, inference, federation string) *Protocol {
	t.Helper()
	return newHouse(t, planeStudy(t, privacy, inference, federation), clients, 1).protocol
}

func close9(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

// With the clipping bound C, multiplier σ, U_min answers and t colluders, the noise share of a
// client has standard deviation s = σC/√(U_min − t). For an observer who cannot subtract k shares,
// T rounds cost μ = √T·C/(s·√k).
func TestViews(t *testing.T) {
	const rounds, sigma = 6, 2.0
	for _, c := range []struct {
		name, privacy, federation string
		// number of noise shares that each observer cannot subtract
		shares map[string]int
		first  string
		want   float64 // number of noise shares that add up to the multiplier σ
	}{
		{"all", "client", "", map[string]int{"outside": 10, "participant": 9, "coordinator": 1}, "outside", 10},
		{"fewest", "client", "min_clients = 7", map[string]int{"outside": 7, "participant": 6, "coordinator": 1}, "outside", 7},
		{"colluders", "client", "min_clients = 7\ncolluders = 3", map[string]int{"coalition": 4, "participant": 6, "outside": 7, "coordinator": 1}, "coalition", 4},
		{"colluders of all", "client", "colluders = 4", map[string]int{"coalition": 6, "participant": 9, "outside": 10, "coordinator": 1}, "coalition", 6},
		{"records", "record", "min_clients = 7\ncolluders = 3", map[string]int{"anyone": 1}, "anyone", 1},
	} {
		privacy := "unit = \"" + c.privacy + "\"\nnoise_multiplier = 2\ndelta = 1e-5\nclip = 60"
		p := protocolOf(t, 10, privacy, "", c.federation)
		releases := p.Releases()
		if want := map[string]int{"client": rounds, "record": 1}[c.privacy]; releases != want {
			t.Errorf("%s: %d releases, want %d", c.name, releases, want)
		}
		m := mechanismOf(p)
		share := m.Lattice().Float(m.ShareSigma()) / m.Clip()
		if want := sigma / math.Sqrt(c.want); !close9(share, want) {
			t.Errorf("%s: a noise share is %g clips, want %g", c.name, share, want)
		}
		views := p.Views()
		if len(views) != len(c.shares) || views[0].Name != c.first {
			t.Errorf("%s: views %+v", c.name, views)
		}
		for _, v := range views {
			if v.Shares != c.shares[v.Name] {
				t.Errorf("%s: the %s view has %d shares, want %d", c.name, v.Name, v.Shares, c.shares[v.Name])
			}
			for adjacency, factor := range map[accountant.Adjacency]float64{p.Adjacencies()[0]: 1, accountant.ReplaceOne: 2} {
				cost, err := p.Cost(v, adjacency, releases)
				want := factor * math.Sqrt(float64(releases)) / (share * math.Sqrt(float64(v.Shares)))
				if err != nil || !close9(cost.Mu, want) {
					t.Errorf("%s: %s under %s costs μ = %g, %v; want %g", c.name, v.Name, adjacency, cost.Mu, err, want)
				}
			}
		}
		costs, err := p.Costs(releases)
		if err != nil || len(costs) != 2*len(views) || costs[0].View != views[0] || !close9(costs[0].Mu, math.Sqrt(float64(releases))/sigma) {
			t.Errorf("%s: costs %+v, %v", c.name, costs, err)
		}
	}
}

// For the observer and adjacency of the privacy target, the cost is just below the target.
func TestTargets(t *testing.T) {
	for _, c := range []struct{ privacy, federation string }{
		{"unit = \"client\"\nclip = 60", ""},
		{"unit = \"client\"\nclip = 60", "min_clients = 5\ncolluders = 2"},
		{"unit = \"client\"\nclip = 60\nadjacency = \"replace-one\"", ""},
		{"unit = \"client\"\nclip = 60\nadjacency = \"replace-one\"", "colluders = 3"},
		{"unit = \"record\"", "colluders = 3"},
		{"unit = \"record\"\nadjacency = \"replace-one\"", ""},
	} {
		p := protocolOf(t, 8, c.privacy+"\nepsilon = 2.0\ndelta = 1e-5", "", c.federation)
		cost, err := p.Cost(p.Views()[0], p.study.Privacy.Adjacency, p.Releases())
		if err != nil || cost.Epsilon > 2 || cost.Epsilon < 2*(1-1e-6) {
			t.Errorf("%q, %q: the study costs ε = %g, %v; the target is 2", c.privacy, c.federation, cost.Epsilon, err)
		}
		if e := mechanismOf(p).Event().(accountant.DiscreteGaussian); e.Adjacency != p.study.Privacy.Adjacency {
			t.Errorf("%q: the mechanism states its cost under %s", c.privacy, e.Adjacency)
		}
	}
}

// The claimed, true and proved costs differ only if factors are published and the study protects
// clients.
func TestOutsideCosts(t *testing.T) {
	const rounds, sigma = 6, 2.0
	client := "unit = \"client\"\nnoise_multiplier = 2\ndelta = 1e-5\nclip = 60"
	for _, c := range []struct {
		privacy, inference, federation string
		sound                          bool
		fewest, shares                 int // number of clients in the smallest sum, and of noise shares that add up to multiplier σ
		factor                         float64
	}{
		{client, "factors = \"tied\"", "", true, 8, 8, 1},
		{client, "factors = \"exact\"", "colluders = 3", true, 8, 5, 1},
		{client + "\nadjacency = \"replace-one\"", "factors = \"exact\"", "", true, 8, 8, 2},
		{"unit = \"record\"\nnoise_multiplier = 2\ndelta = 1e-5", "factors = \"published\"", "", true, 1, 1, 1},
		{client, "factors = \"published\"\ndamping = 0.3", "", false, 8, 8, 1},
		{client, "factors = \"published\"\ndamping = 0.3", "min_clients = 5", false, 5, 5, 1},
		{client, "factors = \"published\"\ndamping = 0.3", "min_clients = 5\ncolluders = 2", false, 5, 3, 1},
		{client + "\nadjacency = \"replace-one\"", "factors = \"published\"\ndamping = 0.3", "", false, 8, 8, 2},
	} {
		p := protocolOf(t, 8, c.privacy, c.inference, c.federation)
		claimed, truth, sound, err := p.OutsideCosts(rounds)
		check(t, err)
		total := sigma * math.Sqrt(float64(c.fewest)/float64(c.shares)) // standard deviation of the noise in the smallest sum, relative to the clipping bound
		want := struct{ claimed, truth, sound float64 }{claimed: c.factor * math.Sqrt(rounds) / total}
		want.truth, want.sound = want.claimed, want.claimed
		if !c.sound {
			want.truth = c.factor * change.PublishedMu(c.fewest, rounds, total, p.study.Inference.Damping.At)
			want.sound = want.claimed * math.Sqrt(float64(c.fewest))
		}
		if p.Sound() != c.sound || !close9(claimed.Mu, want.claimed) || !close9(truth.Mu, want.truth) || !close9(sound.Mu, want.sound) {
			t.Errorf("%q, %q, %q: sound is %v, μ = %g, %g, %g; want %v and %+v", c.privacy, c.inference, c.federation, p.Sound(), claimed.Mu, truth.Mu, sound.Mu, c.sound, want)
		}
		for _, cost := range []method.Cost{claimed, truth, sound} {
			if want := accountant.GaussianEpsilon(cost.Mu, cost.Delta); !close9(cost.Epsilon, want) {
				t.Errorf("μ = %g is stated as ε = %g, want %g", cost.Mu, cost.Epsilon, want)
			}
		}
		// Cost returns the proved cost, even if the study claims a lower one.
		for _, v := range p.Views() {
			if charged, err := p.Cost(v, p.study.Privacy.Adjacency, rounds); err != nil || !c.sound && !close9(charged.Mu, want.sound) {
				t.Errorf("%q: %s is charged μ = %g, %v; want %g", c.inference, v.Name, charged.Mu, err, want.sound)
			}
		}
	}
}

// A large δ is refused, because a mechanism that publishes a random record or client would satisfy
// it.
func TestDeltaIsSmall(t *testing.T) {
	roster := []ClientID{"a", "b", "c", "d"}
	for _, c := range []struct{ privacy, federation, want string }{
		{clientPrivacy, "", ""},
		{strings.Replace(clientPrivacy, "1e-5", "0.24", 1), "", ""},
		{strings.Replace(clientPrivacy, "1e-5", "0.25", 1), "", "privacy.delta = 0.25 is not below 1/4 = 0.25, one over the number of clients"},
		{strings.Replace(recordPrivacy, "1e-5", "0.3", 1), "", "privacy.delta = 0.3 is not below 1/4"},
		{strings.Replace(recordPrivacy, "1e-5", "0.0024", 1), "nominal_records = 100", ""},
		{strings.Replace(recordPrivacy, "1e-5", "0.0025", 1), "nominal_records = 100", "1/400 = 0.0025, one over the number of records (4 clients with federation.nominal_records = 100)"},
	} {
		_, err := NewProtocol(planeStudy(t, c.privacy, "", c.federation), roster)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q, %q: %v, want %q", c.privacy, c.federation, err, c.want)
		}
	}
	st := planeStudy(t, clientPrivacy, "", "")
	st.Privacy = study.Privacy{Unit: study.None}
	if _, err := NewProtocol(st, roster); err != nil {
		t.Error(err)
	}
}
