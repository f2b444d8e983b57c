// Package scores is the method in which each round but the last opens the sum of the clipped scores
// of all records, along with counts of the scores' norms. Some rounds also open sums about the
// margins of the regressors, or about the curvature. Package scoring defines the releases and
// computes the posterior from the opened sums. Clients have no factors.
package scores

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fedpvi/dpmech"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/scoring"
	"fedpvi/pvi/shard"
)

// exponent determines the lattice of λ: the elements of λ are multiples of 2^-exponent.
const exponent = 60

// A Method releases sums of scores.
type Method struct {
	*method.Sums
	problem *scoring.Problem
	begin   func() *scoring.State // returns the state before the first round

	mu     sync.Mutex
	latest *scoring.State // the latest state for which λ was computed
	lambda []lambda.Wide  // λ of that state
}

// New returns a function that makes the study's method, a [method.Draft]. The function's argument
// is the noise multiplier of a single release that would use up the whole budget.
func New(s *method.Setting) (method.Draft, error) {
	public, err := scoring.NewProblem(s.Study, s.Model, s.Clients, s.Digest)
	if err != nil {
		return nil, err
	}
	return func(multiplier float64) (method.Method, error) {
		problem := *public
		m := &Method{problem: &problem, begin: sync.OnceValue(problem.Begin)}
		p := &problem
		p.SetNoise(multiplier, s.Shares())
		configs := make([]dpmech.Config, p.Releases())
		for i := range configs {
			clip := p.Clip(i + 1)
			configs[i] = dpmech.Config{
				Dim: p.Size(i + 1), Clip: clip, NoiseMultiplier: p.Multiplier(multiplier) / clip,
				Shares: s.Shares(), Terms: s.Study.Federation.MaxRecords, Releases: s.Clients,
				PerUnit: s.PerUnit(),
			}
		}
		var err error
		m.Sums, err = s.NewSums(configs, exponent)
		return m, err
	}, nil
}

// Foresee implements [method.Foreseeing].
func (m *Method) Foresee(federations int, extent float64, played func(done, of int) error) ([]float64, error) {
	return m.problem.Foresee(federations, extent, played)
}

// TablesSD calls [scoring.Problem.TablesSD].
func (m *Method) TablesSD() float64 { return m.problem.TablesSD() }

// ScoresSD calls [scoring.Problem.ScoresSD].
func (m *Method) ScoresSD(n float64) (count, mean float64) { return m.problem.ScoresSD(n) }

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) {
	records, err := m.problem.Open(s)
	if err != nil {
		return nil, err
	}
	c := &client{method: m, records: records}
	if m.Study.Compare != nil {
		return &holding{client: c, shard: s}, nil
	}
	return c, nil
}

// A client has its records, and counts its releases.
type client struct {
	method.NoFactor

	method  *Method
	records scoring.Records
}

// Release implements [method.Client]. The Walk in the task must belong to the same method.
func (c *client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	c.Count()
	query, err := t.Walk.(*walk).state.Query(t.Number)
	if err != nil {
		return true, err
	}
	mechanism := c.method.Mechanism(t.Number)
	n := mechanism.Dim()
	clear(dst[n:]) // other rounds may have longer releases
	together := max(leastTogether, elementsTogether/n)
	vectors := make([]float64, together*n)
	return true, mechanism.Release(dst[:n], make([]int64, n), src, func(add func([]float64) error) error {
		contributor := query.Contributor(c.records) // This reads records, so the noise must have been drawn before.
		for i := range c.records.Len() {
			vector := vectors[i%together*n:][:n]
			contributor.Vector(vector, i)
			if i%together == together-1 || i == c.records.Len()-1 {
				if err := add(vectors[:(i%together+1)*n]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Adding the vectors of several records in one call is faster. A call gets at most elementsTogether
// elements, so that they fit in a cache, but at least leastTogether vectors.
const (
	elementsTogether = 1 << 13
	leastTogether    = 4
)

// A walk computes the posterior from the opened sums. λ is the difference between the posterior's
// natural parameters and those of the prior, rounded to the lattice.
type walk struct {
	method *Method
	state  *scoring.State
	past   []byte // encoded sums of all accepted rounds
}

// NewWalk implements [method.Method].
func (m *Method) NewWalk() method.Walk {
	return &walk{method: m, state: m.begin()}
}

func (w *walk) Step(n, answers int, _ int64, sum, _ []int64) method.Move {
	mechanism := w.method.Mechanism(n)
	elements := sum[:mechanism.Dim()]
	next, err := w.state.Step(n, answers, elements, mechanism.Lattice().Step(), float64(mechanism.ShareSigma()))
	if err != nil {
		return nil
	}
	past := binary.AppendUvarint(binary.AppendUvarint(w.past[:len(w.past):len(w.past)], uint64(n)), uint64(answers))
	for _, e := range elements {
		past = binary.AppendVarint(past, e)
	}
	return w.moveTo(next, past)
}

// moveTo returns the move to the λ of a state, or nil if λ does not fit on the lattice.
func (w *walk) moveTo(state *scoring.State, past []byte) method.Move {
	at := w.method.lambdaOf(state)
	if at == nil {
		return nil
	}
	return method.NewMove(slices.Clone(at), func() { w.state, w.past = state, past })
}

// lambdaOf returns the λ of a state, or nil if it does not fit on the lattice. It caches the latest
// result, which the server and all clients of a simulation need.
func (m *Method) lambdaOf(state *scoring.State) []lambda.Wide {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest != state {
		m.latest, m.lambda = state, m.newLambda(state)
	}
	return m.lambda
}

func (m *Method) newLambda(state *scoring.State) []lambda.Wide {
	s := m.Setting
	natural := make([]float64, s.Family.Size())
	mean, cov := state.Posterior()
	if err := s.Family.FromMoments(natural, mean, cov); err != nil {
		return nil
	}
	return s.Lambda(natural, exponent)
}

func (w *walk) Begin() []method.Move { return []method.Move{w.moveTo(w.state, nil)} }

func (w *walk) End() []method.Move { return nil }

func (w *walk) Save() []byte { return w.past }

// Restore implements [method.Walk]. It computes the states again from the saved sums.
func (w *walk) Restore(_ []lambda.Wide, saved []byte, _ bool) ([]method.Move, error) {
	state, last := w.method.begin(), 0
	for rest := saved; len(rest) > 0; {
		var round, answers uint64
		var err error
		if round, rest, err = uvarint(rest); err == nil {
			answers, rest, err = uvarint(rest)
		}
		if err != nil || round <= uint64(last) || round > uint64(w.method.Releases()) || answers == 0 || answers > uint64(w.method.Clients) {
			return nil, errors.New("the saved sums are not sums of this study")
		}
		last = int(round)
		mechanism := w.method.Mechanism(last)
		elements := make([]int64, mechanism.Dim())
		for i := range elements {
			e, n := binary.Varint(rest)
			if n <= 0 {
				return nil, errors.New("the saved sums end early")
			}
			elements[i], rest = e, rest[n:]
		}
		if state, err = state.Step(last, int(answers), elements, mechanism.Lattice().Step(), float64(mechanism.ShareSigma())); err != nil {
			return nil, fmt.Errorf("the saved sums: %w", err)
		}
	}
	return []method.Move{w.moveTo(state, saved)}, nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	x, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errors.New("the saved sums end early")
	}
	return x, b[n:], nil
}
