package clientscores

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech"
	"fedpvi/internal/guard"
	"fedpvi/pvi/method"
	"fedpvi/pvi/population"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// exponent determines the lattice of λ: the elements of λ are multiples of 2^-exponent and can be
// as large as 2^66.
const exponent = 60

// A Method implements [method.Method] for studies in which clients release gradients and curvatures
// of the log likelihood of their records.
type Method struct {
	*method.Sums
	model   model
	units   *population.Units
	weights []float64 // factor w_t by which the vectors of each round are multiplied

	start func() *population.State
	steps memory
}

// New returns a [method.Draft] of the study's method, which makes the method once the noise
// multiplier is known.
func New(s *method.Setting) (method.Draft, error) {
	model, err := modelOf(s)
	if err != nil {
		return nil, err
	}
	units, err := newUnits(s, model)
	if err != nil {
		return nil, err
	}
	size, weights := population.Size(s.Model.Dim()), population.Weights(s.Study.Inference.Rounds)
	if model.begins() {
		size, weights = population.SizeWithModes(s.Model.Dim()), population.WeightsWithModes(s.Study.Inference.Rounds)
	}
	return func(multiplier float64) (method.Method, error) {
		configs := make([]dpmech.Config, len(weights))
		for t, w := range weights {
			configs[t] = dpmech.Config{
				Dim: size, Clip: w, NoiseMultiplier: multiplier / w,
				Shares: s.Shares(), Terms: 1, Releases: s.Clients,
			}
		}
		sums, err := s.NewSums(configs, exponent)
		if err != nil {
			return nil, err
		}
		m := &Method{Sums: sums, model: model, units: units, weights: weights}
		m.start = sync.OnceValue(m.newState)
		return m, nil
	}, nil
}

// madeUpRecords is the number of synthetic records from which newUnits computes units. With this
// number, their average information differs from its expectation by about 2 %.
const madeUpRecords = 4000

// newUnits returns units in which the different coefficients have similar amounts of information:
// the matrix A + P/n becomes the identity. A is the average information of a synthetic record at
// the prior mean, P is the precision of the prior, and n is the nominal number of records of a
// client. The term P/n gives a unit to coefficients about which synthetic records have no
// information.
func newUnits(s *method.Setting, m model) (*population.Units, error) {
	prior := m.prior()
	made, err := m.madeUp(shard.Design(s.Study, method.MadeUp(s.Study, s.Digest, 0, madeUpRecords)), prior.mean, normals(s, "outcomes of made-up records", 0))
	if err != nil {
		return nil, err
	}
	_, information, err := made.score(prior.mean)
	if err != nil {
		return nil, err
	}
	for i := range prior.mean {
		for j := range i + 1 {
			information.SetSym(i, j, information.At(i, j)/float64(made.len())+prior.precision.At(i, j)/float64(s.Study.Federation.NominalRecords))
		}
	}
	units, err := population.NewUnits(information)
	if err != nil {
		return nil, fmt.Errorf("the units of the study's coefficients: %w", err)
	}
	return units, nil
}

// newState returns the state of the posterior before the first round. The prior of the state is
// normal, with the mean and the covariance of the study's prior.
func (m *Method) newState() *population.State {
	prior := m.model.prior()
	in := m.Study.Inference
	state, ok := population.New(&population.Setting{
		Mean: m.units.To(prior.mean), Precision: m.units.Information(prior.precision),
		Records: float64(m.Study.Federation.NominalRecords), Clients: m.Clients, Weights: m.weights, Noise: m.Noise().SD,
		Pooled: in.Target == study.Pooled, Skewed: m.Model.Linear() == nil, Area: m.area(), Digest: m.Digest,
	})
	if !ok {
		// The code is unreachable, because the prior of every coordinate is a proper distribution.
		panic("clientscores: the prior is not proper")
	}
	return state
}

// area returns the region in which each client votes, in the first round, for the location of the
// mode of its records. It returns nil if clients do not vote.
func (m *Method) area() *population.Area {
	if !m.model.begins() {
		return nil
	}
	prior := m.model.prior()
	var root mat.Cholesky
	cov := mat.NewSymDense(len(prior.mean), nil)
	if !root.Factorize(m.units.Information(prior.precision)) || root.InverseTo(cov) != nil {
		panic("clientscores: the prior is not proper") // unreachable, as in newState
	}
	a := &population.Area{Mean: m.units.To(prior.mean)}
	for i := range prior.mean {
		a.SD = append(a.SD, math.Sqrt(cov.At(i, i)))
	}
	return a
}

// If the signal of a study (see [population.State.Signal]) is below hopeless, the forecast is
// marked as doubtful: the intervals of the posterior would be hardly narrower than the intervals of
// the prior.
const hopeless = 5

// Signal implements [method.Signalled].
func (m *Method) Signal() float64 { return m.start().Signal() }

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast {
	f := m.Sums.Forecast()
	f.Doubtful = m.Signal() < hopeless
	return f
}

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) {
	of, err := m.model.open(s)
	if err != nil {
		return nil, err
	}
	return &client{method: m, records: of, sum: make([]int64, m.Messages().Size), vector: make([]float64, m.Messages().Size)}, nil
}

// A client is the client's half of the method. Every release is a noisy vector that is computed
// from the records. The client stores only the number of its releases.
type client struct {
	method.NoFactor

	method  *Method
	records records
	noise   dpmech.Noise

	sum    []int64 // scratch space of Release
	vector []float64
}

// Release implements [method.Client]. The task's Walk must come from the same method. If computing
// the vector panics, Release uses the zero vector.
func (c *client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	round := c.method.Round(t.Number)
	mechanism := c.method.Mechanism(round)
	c.Count()
	mechanism.Draw(&c.noise, src)
	query := t.Walk.(*walk).state.Query(round)
	if fault := guard.Run(func() { err = c.compute(query, round) }); fault != nil {
		clear(c.vector)
	}
	if err != nil {
		return true, err
	}
	return true, mechanism.ReleaseOne(dst, c.sum, &c.noise, c.vector)
}

// compute writes to c.vector the client's answer to a query. The answer is multiplied by the weight
// of the given round.
func (c *client) compute(q *population.Query, round int) error {
	m := c.method
	if err := answer(m, c.vector, c.records, q, 1); err != nil {
		return err
	}
	floats.Scale(m.weights[round-1], c.vector)
	return nil
}

// answer computes from a client's records the vector with which the client answers query q, and
// writes it to dst. Each record counts as if the client had it more times, where more is a number
// that need not be an integer.
func answer(m *Method, dst []float64, of records, q *population.Query, more float64) error {
	point := m.units.From(q.Point)
	if q.Area != nil {
		point = of.mode(m.model.prior())
	}
	gradient, information, err := of.score(point)
	if err != nil {
		return err
	}
	floats.Scale(more, gradient)
	information.ScaleSym(more, information)
	if q.Area != nil {
		q.VoteWithMode(dst, m.units.To(point), m.units.Information(information))
		return nil
	}
	q.Vector(dst, m.units.Gradient(gradient), m.units.Information(information))
	return nil
}

// Check implements [method.Client].
func (c *client) Check(m *method.Memory, answered int) error {
	return method.CheckNoFactor(m, c.method.ReleasesAfter(answered), answered)
}
