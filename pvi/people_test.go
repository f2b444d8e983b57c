package pvi

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/ep"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// personProtocol returns the protocol of a linear study that protects people with up to three rows
// each.
func personProtocol(t testing.TB, privacy, inference, federation string) *Protocol {
	t.Helper()
	return lineProtocol(t, linestudy.Parts{
		Privacy: "unit = \"person\"\nrows_per_person = 3\ndelta = 1e-5\n" + privacy, Inference: inference, Federation: federation,
	}, "[table]\nperson = \"patient\"")
}

func lineProtocol(t testing.TB, parts linestudy.Parts, table string) *Protocol {
	t.Helper()
	return protocolFor(t, 3, strings.Replace(string(linestudy.Document(parts)), "[[column]]", table+"\n[[column]]", 1))
}

// personNeighbours returns two data sets of one client. The first has the rows of one more person
// at the end, at least three. Some numbers are extreme.
func personNeighbours(r *rand.Rand) (worlds [2]*shard.Records) {
	number := func(most float64) float64 {
		if r.IntN(2) == 0 {
			return most * float64(1-2*r.IntN(2))
		}
		return most * (2*r.Float64() - 1)
	}
	with, without := new(shard.Records), new(shard.Records)
	for person := range r.IntN(6) {
		for range 1 + r.IntN(5) {
			row := []float64{number(1), number(10)}
			with.AppendFor(fmt.Sprint(person), row)
			without.AppendFor(fmt.Sprint(person), row)
		}
	}
	row := []float64{number(1), number(10)}
	for range 3 + r.IntN(5) {
		with.AppendFor("victim", row)
	}
	return [2]*shard.Records{with, without}
}

// Removing one person changes a release of any method by at most the sensitivity that the
// accountant assumes. The largest change in the test must reach at least the fraction reached of
// it.
func TestPersonsOfNeighbours(t *testing.T) {
	const steps = "solver = \"%s\"\nrounds = 1\nsampling_rate = 1.0\n"
	for _, c := range []struct {
		name, privacy, inference, federation string
		// lower bound on the largest change of a release, relative to the sensitivity
		reached float64
	}{
		{"statistics", "noise_multiplier = 1.5", "rounds = 1", "", .5},
		{"statistics with a clip", "noise_multiplier = 1.5\nclip = 1.0", "rounds = 1", "", .9},
		{"scoring", "noise_multiplier = 1.5", "rounds = 6\n" + scoringInference, "nominal_records = 15", .4},
		{"scoring in sums", "noise_multiplier = 1.5", "rounds = 6\n" + scoringInference, "nominal_records = 15\nopens = \"sums\"\nmin_clients = 3", .4},
		{"sums of gradients", "noise_multiplier = 1.5\nclip = 1.0", fmt.Sprintf(steps, "dp-svi"), "opens = \"sums\"\nmin_clients = 3", .9},
		{"sites", "noise_multiplier = 1.5\nclip = 1.0", fmt.Sprintf(steps, "dp-sep") + "steps = 1", "", .9},
		{"parts", "noise_multiplier = 1.5\nclip = 0.5", "rounds = 2\npartitions = 3", "", .3},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := personProtocol(t, c.privacy, c.inference, c.federation)
			farthest := 0.0
			for seed := range uint64(40) {
				worlds := personNeighbours(rand.New(rand.NewPCG(seed, 27)))
				a, unit := releaseOf(t, p, worlds[0], seed)
				b, _ := releaseOf(t, p, worlds[1], seed)
				farthest = max(farthest, apart(a, b)/unit)
			}
			t.Logf("no more than %.4f of the sensitivity", farthest)
			if farthest > 1 || farthest < c.reached {
				t.Errorf("releases differ by %.6f of the accounted sensitivity, want %g to 1", farthest, c.reached)
			}
		})
	}
}

// releaseOf returns the first release of a client, and the sensitivity that the accountant assumes,
// in lattice steps.
func releaseOf(t *testing.T, p *Protocol, records *shard.Records, seed uint64) (release []int64, sensitivity float64) {
	t.Helper()
	s := shard.Design(p.study, records)
	var refine solver.Solver
	site, err := p.NewSite(clientID(0), s)
	if _, ok := p.method.(method.Refining); ok {
		site = siteAround(t, p, clientID(0), s, func(of solver.Solver) solver.Solver { refine = of; return of })
	}
	check(t, err)
	plan := &Plan{Protocol: p.digest, Number: 1, Lambda: site.Lambda(), Participants: p.Roster()}
	if p.study.Privacy.Centred {
		plan.Centre = make([]int64, p.model.Dim())
	}
	var r Release
	check(t, site.Propose(&r, plan, seeded.Stream(seed, "neighbours")))
	event, err := p.method.Increment(1, p.study.Privacy.Adjacency, 0, 1)
	check(t, err)
	sensitivity = sensitivityOf(t, p, event)
	switch refine := refine.(type) {
	case *solver.ClippedAnalytical:
		var released []int64
		check(t, json.Unmarshal(refine.State(), &released))
		return released, sensitivity
	case *ep.DPSEP:
		return append([]int64(nil), refine.Released()...), sensitivity
	}
	return r.Change, sensitivity
}

// sensitivityOf returns the L2 sensitivity that the event e was computed with, in lattice steps.
func sensitivityOf(t *testing.T, p *Protocol, e accountant.Event) float64 {
	t.Helper()
	switch e := e.(type) {
	case accountant.DiscreteGaussian:
		return e.Sensitivity
	case accountant.Composed:
		return sensitivityOf(t, p, e[0])
	case accountant.Repeated:
		return sensitivityOf(t, p, e.Event)
	// Sigma is a client's share of the noise divided by the sensitivity.
	case accountant.Gaussian:
		return e.Sensitivity / e.Sigma * float64(steppedOf(p).Sampled().ShareSigma())
	}
	t.Fatalf("an event %T", e)
	return 0
}

// To reach the same ε, a study that protects people with three rows needs three times the noise of
// one that protects single records. Methods that clip a person's whole sum, to √3 times the bound
// for a row, need only √3 times as much.
func TestPersonsMeetTheTarget(t *testing.T) {
	for name, c := range map[string]struct {
		inference, federation string
		// noise that protects people, relative to noise that protects records
		rows   float64
		within float64 // relative tolerance of rows
	}{
		"statistics": {"rounds = 1", "", 3, 1e-3},
		// The rounds' share of the budget depends on the noise, so the factor is only approximate.
		"scoring": {"rounds = 6\n" + scoringInference, "nominal_records = 15", 3, .02},
		// The rows of a person are clipped to √3 times the bound for a single row.
		"gradients": {"solver = \"dp-svi\"\nrounds = 1\nsteps = 20\nsampling_rate = 0.5", "", math.Sqrt(3), 1e-3},
		"sites":     {"solver = \"dp-sep\"\nrounds = 1\nsteps = 20\nsampling_rate = 1.0", "", math.Sqrt(3), 1e-3},
	} {
		people := personProtocol(t, "epsilon = 1.0", c.inference, c.federation)
		records := lineProtocol(t, linestudy.Parts{
			Privacy: "unit = \"record\"\nepsilon = 1.0\ndelta = 1e-5", Inference: c.inference, Federation: c.federation,
		}, "")
		cost, err := people.Cost(people.Views()[0], accountant.AddRemove, people.Releases())
		check(t, err)
		noise := people.method.Noise().SD / records.method.Noise().SD
		if cost.Epsilon > 1 || cost.Epsilon < .995 || math.Abs(noise/c.rows-1) > c.within {
			t.Errorf("%s: ε = %.6g with %.6g times the noise of records, want 1 and %.6g", name, cost.Epsilon, noise, c.rows)
		}
	}
}

// With people_across = 2, the reported cost is that of a person with rows at two clients: of two
// messages if anyone may read messages, or of one sum that contains the rows of both. A client's
// ledger is only charged for the releases of that client.
func TestPeopleAcrossClients(t *testing.T) {
	const federation = "nominal_records = 15\n"
	cost := func(p *Protocol) float64 {
		c, err := p.Cost(p.Views()[0], accountant.AddRemove, p.Releases())
		check(t, err)
		return c.Mu
	}
	own := func(p *Protocol) float64 {
		e, err := p.Event(p.Views()[0], accountant.AddRemove, p.Releases())
		check(t, err)
		profile, err := accountant.Account(e)
		check(t, err)
		return profile.Mu()
	}
	inference := "rounds = 6\n" + scoringInference
	one := personProtocol(t, "noise_multiplier = 3.0", inference, federation)
	two := personProtocol(t, "noise_multiplier = 3.0\npeople_across = 2", inference, federation)
	if got, want := cost(two), math.Sqrt2*cost(one); !close9(got, want) || !close9(own(two), own(one)) {
		t.Errorf("messages: μ = %g, want %g; μ of one client is %g, want %g", got, want, own(two), own(one))
	}
	sums := federation + "opens = \"sums\"\nmin_clients = 3"
	one = personProtocol(t, "noise_multiplier = 3.0", inference, sums)
	two = personProtocol(t, "noise_multiplier = 3.0\npeople_across = 2", inference, sums)
	if got, want := cost(two), 2*cost(one); !close9(got, want) {
		t.Errorf("sums: μ = %g, want %g", got, want)
	}
	target := personProtocol(t, "epsilon = 1.0\npeople_across = 2", inference, federation)
	if c, err := target.Cost(target.Views()[0], accountant.AddRemove, target.Releases()); err != nil || c.Epsilon > 1 || c.Epsilon < .995 {
		t.Errorf("a target of 1 at two clients: ε = %g, %v", c.Epsilon, err)
	}
	gradients := personProtocol(t, "noise_multiplier = 3.0\npeople_across = 2\nclip = 1.0", "solver = \"dp-svi\"\nrounds = 5\nsampling_rate = 1.0", sums)
	if got, want := cost(gradients), 2*math.Sqrt(5)/3; math.Abs(got/want-1) > 1e-6 {
		t.Errorf("sums of gradients: μ = %g, want %g", got, want)
	}
}

// A batch contains either all rows of a person or none of them.
func TestPersonsAreSampled(t *testing.T) {
	p := personProtocol(t, "noise_multiplier = 3.0\nclip = 1.0", "solver = \"dp-svi\"\nrounds = 1\nsampling_rate = 0.3", "")
	records := new(shard.Records)
	for i := range 20 {
		records.AppendFor(fmt.Sprint(i%7), []float64{0, 0})
	}
	s := shard.Design(p.study, records)
	m, err := p.method.(interface {
		For(*shard.Shard) (*dpmech.SampledSum, error)
	}).For(s)
	check(t, err)
	if m.Records() != 7 || m.Rows() != 20 || s.Units() != 7 {
		t.Errorf("%d of %d persons with %d rows", m.Records(), s.Units(), m.Rows())
	}
	if err := p.OnDevice(); err == nil || !strings.Contains(err.Error(), "rows of a person") {
		t.Errorf("on a device: %v", err)
	}
}
