package pvi

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/method/steps"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

const descentStudy = `
study = { version = 1, name = "descent" }
model = { family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x"], standardise = "none" }
inference = { rounds = 5, steps = 3 }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { max_records = 5000 }
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 1]
`

func descentProtocol(t *testing.T, overrides ...study.Override) *Protocol {
	t.Helper()
	return protocolFor(t, 2, descentStudy, overrides...)
}

func descentShard(p *Protocol, n int) *shard.Shard {
	records := new(shard.Records)
	for i := range n {
		x, y := dealt(i)
		records.Append([]float64{x, y})
	}
	return shard.Design(p.study, records)
}

// dealt returns record i for the studies with gradient steps.
func dealt(i int) (x, y float64) {
	x = math.Sin(float64(i))
	if math.Sin(float64(7*i)) < x {
		y = 1
	}
	return x, y
}

func site(t *testing.T, p *Protocol, s *shard.Shard) *Site {
	t.Helper()
	site, err := p.NewSite(clientID(0), s)
	check(t, err)
	return site
}

// A client's number of records affects the batch sizes of its steps, and nothing else about them.
func TestDescentDoesNotDependOnTheNumberOfRecords(t *testing.T) {
	for _, rate := range []string{"1.0", "0.1"} {
		p := descentProtocol(t, set("inference.sampling_rate", rate), set("inference.gradients", `"published"`), set("federation.nominal_records", "300"))
		most, options := steppedOf(p).Sampled(), optionsOf(p, 5000)
		if options.Records != 300 {
			t.Errorf("the divergence is divided by %g, want the public number 300", options.Records)
		}
		for _, n := range []int{0, 1, 2, 100, 4999, 5000} {
			m, err := sampledFor(p, n)
			check(t, err)
			if o := optionsOf(p, n); o != options {
				t.Errorf("rate %s, %d records: %+v, for the most %+v", rate, n, o, options)
			}
			mine, theirs := account(t, m.Event()), account(t, most.Event())
			if m.Lattice() != most.Lattice() || m.ShareSigma() != most.ShareSigma() || m.Clip() != most.Clip() || mine != theirs {
				t.Errorf("rate %s, %d records: another mechanism than for the most", rate, n)
			}
		}
	}
}

func account(t *testing.T, e accountant.Event) float64 {
	t.Helper()
	profile, err := accountant.Account(e)
	check(t, err)
	b, err := profile.Epsilon(1e-5)
	check(t, err)
	return b.Upper
}

func TestDescentMeetsItsTarget(t *testing.T) {
	for _, rate := range []float64{1, 0.1} {
		value := "1.0"
		if rate < 1 {
			value = "0.1"
		}
		p := descentProtocol(t, set("inference.sampling_rate", value))
		cost, err := p.Cost(p.Views()[0], accountant.AddRemove, p.Releases())
		check(t, err)
		if p.Releases() != 15 || cost.Epsilon > 1 || cost.Epsilon < 0.998 {
			t.Errorf("rate %g: ε = %.9g in %d steps", rate, cost.Epsilon, p.Releases())
		}
		sigma := p.method.Noise().Multiplier
		want := accountant.GaussianEpsilon(math.Sqrt(15)/sigma, 1e-5)
		if rate < 1 {
			want = account(t, accountant.Repeated{Event: accountant.Poisson{Rate: rate, Sigma: sigma, Adjacency: accountant.AddRemove}, Times: 15})
		}
		if math.Abs(cost.Epsilon/want-1) > 1e-4 {
			t.Errorf("rate %g: ε = %.9g, by the formula %.9g", rate, cost.Epsilon, want)
		}
	}
}

func TestDescentDefaults(t *testing.T) {
	whole := set("inference", "{ rounds = 20 }")
	p := descentProtocol(t, whole)
	d := stepsOf(p)
	// The regressors are an intercept and a number uniform on [−1, 1], so their mean squared norm is
	// 4/3.
	if d.Round != 10 || d.Rate != 1 || math.Abs(d.Clip-0.6*math.Sqrt(4./3)) > 1e-12 || math.Abs(d.StepSize-0.2) > 1e-12 {
		t.Errorf("two clients, twenty rounds: %+v", *d)
	}
	if p.Family().Name() != "diagonal" || p.study.Inference.Damping.Alpha != 0.3 {
		t.Errorf("q is %s, damping %g", p.Family().Name(), p.study.Inference.Damping.Alpha)
	}
	d = stepsOf(descentProtocol(t, set("inference", `{ rounds = 20, schedule = "sequential" }`)))
	if math.Abs(d.StepSize-0.2) > 1e-12 {
		t.Errorf("in turns: step size %g", d.StepSize)
	}
	for records, want := range map[string][2]float64{"4999": {0.4, 0.5}, "5000": {0.1, 0.7}} {
		d = stepsOf(descentProtocol(t, whole, set("federation.nominal_records", records)))
		if math.Abs(d.StepSize-want[0]) > 1e-12 || math.Abs(d.Clip-want[1]*math.Sqrt(4./3)) > 1e-12 {
			t.Errorf("two clients of %s records: %+v, want step size %g and clip %g of √4/3", records, *d, want[0], want[1])
		}
	}
	// With few records, the clipping bound and the step size shrink with the signal-to-noise ratio,
	// which is proportional to the number of records here. Both are multiplied by the factor want.
	for records, want := range map[string]float64{"94": 1, "93": 0.997150, "70": 0.750543, "40": 0.5, "1": 0.5} {
		few := []study.Override{whole, {Key: "federation.nominal_records", Value: records}, {Key: "privacy.delta", Value: "1e-5"}}
		d = stepsOf(descentProtocol(t, few...))
		if math.Abs(d.StepSize/0.4-want) > 1e-5 || math.Abs(d.Clip/0.5/math.Sqrt(4./3)-want) > 1e-5 {
			t.Errorf("two clients of %s records: %+v, want a pace of %g", records, *d, want)
		}
		// The noise multiplier that this target needs leads to the same clipping bound and step size.
		d = stepsOf(descentProtocol(t, append(few, set("privacy", `{ unit = "record", noise_multiplier = 52.7596, delta = 1e-5 }`))...))
		if math.Abs(d.StepSize/0.4-want) > 1e-4 {
			t.Errorf("two clients of %s records, by the noise: %+v, want a pace of %g", records, *d, want)
		}
	}
	if d = stepsOf(descentProtocol(t, set("inference", "{ rounds = 2, steps = 5 }"))); d.StepSize != 0.4 {
		t.Errorf("few steps: step size %g", d.StepSize)
	}
	d = stepsOf(descentProtocol(t, whole, set("federation.nominal_records", "2000000000"), set("privacy.delta", "1e-12")))
	if d.Rate != steps.SampledRate || d.Round != 20 {
		t.Errorf("very many records: %+v", *d)
	}
}

func TestDescentSiteRestored(t *testing.T) {
	p := descentProtocol(t)
	if h := sameAfterRestarts(t, p, 1, descentShard(p, 200), descentShard(p, 0)); h.sites[0].Releases() != 15 {
		t.Errorf("%d steps charged, want 15", h.sites[0].Releases())
	}
}

// Restore refuses a state whose count of releases differs from the number that the solver made.
func TestStatesThatHideReleases(t *testing.T) {
	for _, c := range []struct {
		p       *Protocol
		charged int // number of releases charged for the first answer
	}{{descentProtocol(t), 3}, {startProtocol(t), 6}} {
		s := site(t, c.p, descentShard(c.p, 50))
		plan, _ := NewServer(c.p).Next()
		check(t, s.Propose(new(Release), &plan, seeded.Stream(1, "noise")))
		state := saved(t, s)
		check(t, site(t, c.p, descentShard(c.p, 50)).Restore(state))
		for _, forged := range []int{c.charged - 1, 0, c.charged + 1} {
			changed := strings.Replace(string(state), fmt.Sprintf(`"Statistics":%d`, c.charged), fmt.Sprintf(`"Statistics":%d`, forged), 1)
			if changed == string(state) {
				t.Fatal("the state does not contain the number of releases")
			}
			if err := site(t, c.p, descentShard(c.p, 50)).Restore([]byte(changed)); err == nil {
				t.Errorf("a state with %d releases in place of %d was taken up", forged, c.charged)
			}
		}
	}
}

// If a solver fails in the middle of a plan, the releases it has made are charged, and the site
// does not answer the plan again.
func TestDescentVisitThatFails(t *testing.T) {
	p := descentProtocol(t, set("inference", `{ rounds = 5, steps = 3, optimiser = "sgd", step_size = 1e200 }`))
	site := site(t, p, descentShard(p, 50))
	plan, _ := NewServer(p).Next()
	if err := site.Propose(new(Release), &plan, seeded.Stream(1, "noise")); !errors.Is(err, solver.ErrDiverged) {
		t.Fatalf("steps of size 1e200: %v", err)
	}
	var refused *Refused
	if err := site.Propose(new(Release), &plan, seeded.Stream(2, "noise")); !errors.As(err, &refused) {
		t.Errorf("the plan was answered again: %v", err)
	}
	if site.Releases() != 3 {
		t.Errorf("%d steps charged, 3 were taken", site.Releases())
	}
	state := saved(t, site)
	if err := site.Restore(state); err != nil {
		t.Error(err)
	}
}

// A site that has taken all steps of its budget refuses further plans.
func TestDescentSiteThatHasSpentAll(t *testing.T) {
	p := descentProtocol(t)
	site := site(t, p, descentShard(p, 50))
	site.client = spentClient{site.client, p.Releases()}
	plan, _ := NewServer(p).Next()
	var refused *Refused
	if err := site.Propose(new(Release), &plan, seeded.Stream(1, "noise")); !errors.As(err, &refused) {
		t.Errorf("a plan beyond the study's budget: %v", err)
	}
}

func TestDescentRefusals(t *testing.T) {
	for _, c := range []struct {
		overrides []study.Override
		want      string
	}{
		{[]study.Override{set("inference.solver", `"dp-svi"`), set("privacy", `{unit = "client", epsilon = 1.0, delta = 1e-5, clip = 1.0}`)}, "one step a round"},
		{[]study.Override{set("inference.solver", `"dp-svi"`), set("privacy", `{unit = "none"}`)}, `write "svi"`},
		{[]study.Override{set("inference.q", `"full"`)}, `write q = "diagonal"`},
		{[]study.Override{set("inference.factors", `"published"`)}, "is not defined for solver"},
		{[]study.Override{set("inference.optimiser", `"sgd"`)}, "only \"adam\" has a default"},
		{[]study.Override{set("inference.sampling_rate", "0.0")}, "must lie in"},
		{[]study.Override{set("inference.factors", `"published"`)}, "which costs the same"},
		{[]study.Override{set("inference.optimiser", `"natural"`)}, "only \"adam\" has a default"},
		{[]study.Override{set("inference.draws", "0")}, "between 1 and 64"},
		{[]study.Override{set("inference.gradients", `"published"`)}, "write federation.nominal_records"},
		{[]study.Override{set("inference.sampling", `"without-replacement"`)}, "write sampling_rate"},
		{[]study.Override{set("inference.sampling", `"published"`), set("inference.sampling_rate", "0.1")}, "write federation.nominal_records"},
		{[]study.Override{set("inference.sampling", `"without-replacement"`), set("inference.sampling_rate", "0.1"), set("federation.nominal_records", "50")}, `write adjacency = "replace-one"`},
		{[]study.Override{set("inference.start", `"analytical"`)}, `family = "linear"`},
		{[]study.Override{set("inference.start_share", "0.5")}, `only with start = "analytical"`},
	} {
		_, err := study.Parse("s.toml", []byte(descentStudy), c.overrides...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.overrides, err, c.want)
		}
	}
}
