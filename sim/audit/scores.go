package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/special"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/population"
	"fedpvi/pvi/scoring"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// scoresStudy has four coefficients. If the privacy unit is the record, its first round releases
// every kind of block of package scoring, except those for tables and for held-out records.
const scoresStudy = columns + `bounds = [0, 1]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b", "c"]
[model]
family = "logistic"
outcome = "y"
positive = ">= 0.5"
terms = ["x", "g"]
standardise = "none"
[inference]
solver = "scoring"
rounds = 4
[privacy]
noise_multiplier = 1.0
delta = 1e-5
[federation]
max_records = 100
nominal_records = 20
min_clients = 3
`

// A scored is a test case for the method that releases scores (package scoring). The first client
// holds the protected record, or is the protected unit. The second contributes nothing. If only
// sums are opened, the last one colludes with the observer, who sees the sum of the first two.
// Every outcome is void, so that every run asks the same queries.
type scored struct {
	unit      study.Unit
	adjacency accountant.Adjacency
	opens     study.Opens
	grouped   bool // whether intercepts and slopes vary between levels of g
	counted   bool // whether outcomes are counts, for which later rounds also release sums of squared residuals
	program   bool
}

const scoredClients, scoredColluders = 3, 1

var scoredCases = []scored{
	{study.Record, accountant.AddRemove, study.OpenMessages, false, false, false},
	{study.Record, accountant.ReplaceOne, study.OpenSums, false, false, false},
	{study.Client, accountant.ZeroOut, study.OpenSums, false, false, false},
	{study.Client, accountant.ReplaceOne, study.OpenSums, false, false, false},
}

// personScores is a case whose privacy unit is a person with several rows, with the noise of the
// first of scoredCases.
var personScores = scored{study.Person, accountant.AddRemove, study.OpenMessages, false, false, false}

// groupedScores is a case whose model has groups, with the noise and the accounting of the first of
// scoredCases.
var groupedScores = scored{study.Record, accountant.AddRemove, study.OpenMessages, true, false, false}

// countedScores is a case with counts as outcomes.
var countedScores = scored{study.Record, accountant.AddRemove, study.OpenMessages, false, true, false}

// programScores is a case whose model is a program, with the noise and the accounting of the first
// of scoredCases.
var programScores = scored{study.Record, accountant.AddRemove, study.OpenMessages, false, false, true}

func (c scored) name() string {
	name := fmt.Sprintf("scores, %s, %s, %s", c.unit, c.adjacency, c.opens)
	if c.grouped {
		name += ", groups"
	}
	if c.program {
		name += ", program"
	}
	return name
}

func (c scored) protocol() (*pvi.Protocol, error) {
	settings := []study.Override{set("privacy.unit", c.unit), set("privacy.adjacency", c.adjacency)}
	if c.unit.OfRecords() {
		settings = append(settings, set("federation.opens", c.opens))
	}
	if c.unit == study.Person {
		settings = append(settings, personSettings...)
	}
	if c.opens == study.OpenSums {
		settings = append(settings, set("federation.colluders", scoredColluders))
	}
	if c.grouped {
		settings = append(settings, study.Override{Key: "model.terms", Value: `["x"]`}, study.Override{Key: "model.groups", Value: `["1 + x | g"]`})
	}
	text := scoresStudy
	if c.counted {
		text = strings.Replace(text, "family = \"logistic\"\noutcome = \"y\"\npositive = \">= 0.5\"", "family = \"poisson\"\noutcome = \"y\"", 1)
	}
	if c.program {
		before, rest, _ := strings.Cut(text, "[model]\n")
		_, after, _ := strings.Cut(rest, "[inference]\n")
		model := "[model]\nprogram = " + strconv.Quote(outcomesProgram) + "\ndata = { K = { levels = \"g\" } }\n"
		text = strings.Replace(before, "version = 1", "version = 2", 1) + model + "[inference]\n" + after
	}
	return newProtocol(text, scoredClients, settings...)
}

// honest returns the number of clients whose noise hides the first client's vector.
func (c scored) honest() int {
	if c.opens == study.OpenSums {
		return scoredClients - scoredColluders
	}
	return 1
}

// nothing returns the records of a client that contributes nothing.
func (c scored) nothing() *shard.Records {
	if c.unit.OfRecords() {
		return new(shard.Records)
	}
	return copies(1, math.NaN(), 1, 0)
}

// far returns the records of the first client in one world of an attack. In world 1 their vectors
// are longer than the clip in most rounds. In world 0 they have the opposite outcome under
// replace-one, and otherwise contribute zero vectors.
func (c scored) far(world int) *shard.Records {
	n, x := 1, 1e3
	if c.unit == study.Client {
		// With a larger x the records would determine θ more precisely, and package population
		// would limit the client's gradient.
		n, x = 60, 1
	}
	switch {
	case world == 1 && c.unit == study.Person:
		return person(new(shard.Records), "victim", manyRows, x, 1, 1)
	case world == 1:
		return copies(n, x, 1, 1)
	case c.adjacency == accountant.ReplaceOne:
		return copies(n, x, 0, 1)
	}
	return c.nothing()
}

// rounded is implemented by methods that have a separate mechanism for every round.
type rounded interface {
	method.Method
	Mechanism(round int) *dpmech.GaussianSum
}

// answers returns the messages of the honest clients, by round, client and element, if every
// outcome is void. It drops elements beyond the vector that the round's mechanism releases.
func (c scored) answers(p *pvi.Protocol, seed uint64, first *shard.Records) (rounds [][][]int64, err error) {
	sites := make([]*pvi.Site, c.honest())
	for m := range sites {
		records := first
		if m > 0 {
			records = c.nothing()
		}
		if sites[m], err = p.NewSite(clientID(m), shard.Design(p.Study(), records)); err != nil {
			return nil, err
		}
	}
	for n := 1; n <= p.Plans(); n++ {
		var round [][]int64
		for m, s := range sites {
			r := new(pvi.Release)
			plan := &pvi.Plan{Protocol: p.Digest(), Number: n, Lambda: s.Lambda(), Participants: p.Roster()}
			if err := s.Propose(r, plan, seeded.Stream(seed, "scores", uint64(m), uint64(n))); err != nil {
				return nil, err
			}
			if err := s.Settle(&pvi.Outcome{Protocol: p.Digest(), Sequence: n, Number: n, Verdict: pvi.Void}); err != nil {
				return nil, err
			}
			round = append(round, r.Change[:p.Method().(rounded).Mechanism(n).Dim()])
		}
		rounds = append(rounds, round)
	}
	return rounds, nil
}

// messages collects the noise in the messages of clients that contribute nothing. Elements 2j and
// 2j + 1 of a message form one sample of two values, so that their independence can be tested.
func (c scored) messages(ctx context.Context, seed uint64) (noises, error) {
	const runs = 200
	p, err := c.protocol()
	if err != nil {
		return nil, err
	}
	n := p.Method().Noise()
	claimed := n.Multiplier * n.Clip / math.Sqrt(float64(c.honest())) / n.Lattice.Step()
	return collect(ctx, runs, seed, c.name()+", messages", func(seed uint64) (all [][][]float64, err error) {
		rounds, err := c.answers(p, seed, c.nothing())
		for _, round := range rounds {
			for i := 0; i+1 < len(round[0]); i += 2 {
				var pairs [][]float64
				for _, message := range round {
					pairs = append(pairs, []float64{float64(message[i]) / claimed, float64(message[i+1]) / claimed})
				}
				all = append(all, pairs)
			}
		}
		return all, err
	})
}

// attack returns an attack on the first client. From each round, the observer computes one number:
// the component of the client's answer along the difference between the noiseless answers in the
// two worlds.
func (c scored) attack() (attack, error) {
	p, err := c.protocol()
	if err != nil {
		return attack{}, err
	}
	claimed, err := p.Event(method.View{Shares: c.honest()}, c.adjacency, p.Releases())
	if err != nil {
		return attack{}, err
	}
	var worlds [2][][][]int64
	for world := range worlds {
		if worlds[world], err = c.answers(p, 1, c.far(world)); err != nil {
			return attack{}, err
		}
	}
	away := make([][]float64, p.Plans())
	for n := range away {
		away[n] = asFloats(worlds[1][n][0])
		floats.Sub(away[n], asFloats(worlds[0][n][0]))
		floats.Scale(1/max(1, floats.Norm(away[n], 2)), away[n])
	}
	return attack{
		claim: newClaim(claimed),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			rounds, err := c.answers(p, runSeed(seed, c.name(), world, run), c.far(world))
			seen := make([]float64, len(rounds))
			for n, round := range rounds {
				for _, message := range round {
					seen[n] += floats.Dot(away[n], asFloats(message))
				}
			}
			return seen, err
		},
	}, nil
}

// neighbours tests that a client's answers with two neighbouring data sets, under the same noise,
// differ by at most the accounted sensitivity of the round.
func (c scored) neighbours(_ context.Context, t task) (Check, error) {
	const pairs = 40
	p, err := c.protocol()
	if err != nil {
		return Check{}, err
	}
	r := rand.New(seeded.Stream(t.seed, "neighbours"))
	var farthest float64
	for pair := range pairs {
		var worlds [2][][][]int64
		for world, records := range c.pair(r) {
			if worlds[world], err = c.answers(p, uint64(pair), records); err != nil {
				return certain(false, "pair %d: a client's answer ends in an error: %v", pair+1, err), nil
			}
		}
		for n, round := range worlds[1] {
			event := p.Method().(rounded).Mechanism(n+1).EventFor(1, c.adjacency).(accountant.DiscreteGaussian)
			gap := floats.Distance(asFloats(round[0]), asFloats(worlds[0][n][0]), 2) / event.Sensitivity
			if !(gap <= 1+1e-12) {
				return certain(false, "pair %d: answers to round %d differ by %.4g times the accounted sensitivity", pair+1, n+1, gap), nil
			}
			farthest = max(farthest, gap)
		}
	}
	return certain(true, "answers of %d pairs differ by no more than %.6f of the accounted sensitivity", pairs, farthest), nil
}

// pair returns two random neighbouring data sets of one client. The numbers include NaN and values
// outside the column's bounds and, unless the model is a program, infinite and huge ones.
func (c scored) pair(r *rand.Rand) (worlds [2]*shard.Records) {
	number := func() float64 {
		if r.IntN(4) == 0 {
			return []float64{math.NaN(), math.Inf(1), 0, math.MaxFloat64}[r.IntN(4)]
		}
		return r.NormFloat64() * math.Exp(4*r.NormFloat64())
	}
	row := func() []float64 { return []float64{number(), float64(r.IntN(2)), float64(r.IntN(3))} }
	if c.program { // a client skips records with a number outside the bounds of its column
		row = func() []float64 {
			x := []float64{math.NaN(), -1, 1, 0, 2*r.Float64() - 1}[r.IntN(5)]
			return []float64{x, float64(r.IntN(2)), float64(r.IntN(3))}
		}
	}
	if c.unit == study.Person {
		return personPair(r, row)
	}
	for world := range worlds {
		worlds[world] = new(shard.Records)
		if world == 1 || c.adjacency == accountant.ReplaceOne {
			// The protected record comes first, to catch a solver that lets a record change the
			// contributions of later ones.
			worlds[world].Append(row())
		}
	}
	// If alike is true, all records are equal, which makes the norm of the sum as large as
	// possible.
	alike, others := r.IntN(2) == 0, row()
	for range 1 + r.IntN(12) {
		shared := slices.Clone(others)
		if !alike {
			shared = row()
		}
		worlds[1].Append(shared)
		if c.unit == study.Client {
			shared = row()
		}
		worlds[0].Append(slices.Clone(shared))
	}
	if c.unit == study.Client && c.adjacency == accountant.ZeroOut {
		worlds[0] = c.nothing()
	}
	return worlds
}

// charged tests the cost that the ledger charges. A client may miss rounds, so n releases must cost
// as much as the n most expensive rounds. The cost of a round must follow from its clip and noise.
func (c scored) charged(context.Context, task) (Check, error) {
	p, err := c.protocol()
	if err != nil {
		return Check{}, err
	}
	factor := 1.0
	if c.adjacency == accountant.ReplaceOne {
		factor = 2
	}
	if c.unit == study.Person {
		factor *= personRows
	}
	noise := p.Method().Noise()
	var squares []float64 // μ² of each round
	for n := 1; n <= p.Plans(); n++ {
		clip := factor * p.Method().(rounded).Mechanism(n).Clip() / noise.SD
		squares = append(squares, clip*clip/float64(c.honest()))
	}
	slices.Sort(squares)
	slices.Reverse(squares)
	var spent float64
	for n, square := range squares {
		spent += square
		event := accountant.Composed{}
		for k := range n + 1 {
			e, err := p.Increment(method.View{Shares: c.honest()}, c.adjacency, k, k+1)
			if err != nil {
				return Check{}, err
			}
			event = append(event, e)
		}
		profile, err := accountant.Account(event)
		if err != nil {
			return Check{}, err
		}
		if mu := profile.Mu(); math.Abs(mu/math.Sqrt(spent)-1) > 1e-5 {
			return certain(false, "%d releases are charged with μ = %.5g, and may cost %.5g", n+1, mu, math.Sqrt(spent)), nil
		}
	}
	return certain(true, "the charge for up to %d releases is their cost", len(squares)), nil
}

// scoreNorms tests that no record's vector is longer than the round's clip before the mechanism
// clips it. The first round's queries start from the prior, and later ones from a fit that random
// sums have moved.
func scoreNorms(_ context.Context, t task) (Check, error) {
	var longest float64
	for _, c := range []scored{scoredCases[0], countedScores} {
		length, problem, err := t.longestVector(c)
		if err != nil || problem != "" {
			return certain(false, "%s", problem), err
		}
		longest = max(longest, length)
	}
	return certain(true, "no vector of a record has more than %.6f of the clip's norm", longest), nil
}

// longestVector returns the largest norm of a record's vector in case c, divided by the clip of its
// round. It stops at a vector longer than the clip and describes it in tooLong.
func (t task) longestVector(c scored) (longest float64, tooLong string, err error) {
	const records, hostile = 200, 2
	p, err := c.protocol()
	if err != nil {
		return 0, "", err
	}
	problem, err := scoring.NewProblem(p.Study(), p.Model(), scoredClients, p.Digest())
	if err != nil {
		return 0, "", err
	}
	problem.SetNoise(p.Study().Privacy.NoiseMultiplier, c.honest())
	r := rand.New(seeded.Stream(t.seed, "norms of scores"))
	for round := 1; round <= problem.Rounds; round++ {
		state := problem.Begin()
		for n := range hostile {
			query, err := state.Query(round)
			if err != nil {
				return 0, "", err
			}
			x, y := make([][]float64, records), make([]float64, records)
			for k := range x {
				x[k], y[k] = slices.Clone(hostileVector(r)[:4]), float64(r.IntN(2))
				if c.counted {
					y[k] = math.Floor(math.Exp(5 * r.Float64()))
				}
			}
			contributor, vector := query.Contributor(problem.Rows(x, y)), make([]float64, problem.Size(round))
			for k := range x {
				contributor.Vector(vector, k)
				length := floats.Norm(vector, 2) / problem.Clip(round)
				if length > 1+1e-9 && special.Finite(vector) {
					return length, fmt.Sprintf("%s, round %d, record %d: a vector has %.4g times the norm of the clip", p.Study().Model.Family, round, k+1, length), nil
				}
				if special.Finite(vector) {
					longest = max(longest, length)
				}
			}
			if n+1 < hostile {
				sum := make([]int64, problem.Size(1))
				for i := range sum {
					sum[i] = int64(50 * r.NormFloat64() * math.Exp(2*r.NormFloat64()) * 0x1p20)
				}
				if next, err := state.Step(1, scoredClients, sum, 0x1p-20, 0x1p20); err == nil {
					state = next
				}
			}
		}
	}
	return longest, "", nil
}

// clientNorms tests that the vectors of clients have norms of at most 1 before the mechanism clips
// them, for queries with random numbers over many orders of magnitude.
func clientNorms(_ context.Context, t task) (Check, error) {
	const clients, dim = 2000, 3
	r := rand.New(seeded.Stream(t.seed, "norms of clients"))
	size := func() float64 { return math.Exp(5 * r.NormFloat64()) }
	vector := make([]float64, population.SizeWithModes(dim))
	var longest float64
	for k := range clients {
		q := &population.Query{
			Point: make([]float64, dim), Clip: size(), Curvature: randomInformation(r, dim, size()), CurvatureClip: size(), Kappa: size(),
			Units: randomUnits(r, dim),
		}
		if r.IntN(3) == 0 {
			q.Kappa = math.Inf(1)
		}
		if r.IntN(3) == 0 {
			q.Votes, q.Bases = size(), []int{-1, 0, 0}
		}
		gradient, information := []float64{size() * r.NormFloat64(), size() * r.NormFloat64(), size() * r.NormFloat64()}, randomInformation(r, dim, size())
		if r.IntN(4) == 0 {
			q.Votes, q.Area = size(), &population.Area{Mean: []float64{size(), size(), size()}, SD: []float64{size(), size(), size()}}
			q.VoteWithMode(vector, gradient, information) // the bound must hold even if the mode is replaced by arbitrary numbers
		} else {
			q.Vector(vector, gradient, information)
		}
		length := floats.Norm(vector, 2)
		if !(length <= 1+1e-9) {
			return certain(false, "the vector of client %d has norm %.4g", k+1, length), nil
		}
		longest = max(longest, length)
	}
	return certain(true, "no vector of %d clients is longer than %.6f", clients, longest), nil
}

// randomUnits returns units for coordinates of widely different scales.
func randomUnits(r *rand.Rand, dim int) *population.Units {
	for {
		information := mat.NewDiagDense(dim, nil)
		for i := range dim {
			information.SetDiag(i, math.Exp(10*r.NormFloat64()))
		}
		if units, err := population.NewUnits(information); err == nil { // otherwise the information is singular to working accuracy
			return units
		}
	}
}

// randomInformation returns a random positive semidefinite matrix.
func randomInformation(r *rand.Rand, dim int, size float64) *mat.SymDense {
	root := mat.NewDense(dim, dim, nil)
	for i := range dim {
		for j := range dim {
			root.Set(i, j, r.NormFloat64())
		}
	}
	s := mat.NewSymDense(dim, nil)
	s.SymOuterK(size, root)
	return s
}
