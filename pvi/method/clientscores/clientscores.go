package clientscores

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech"
	"fedpvi/internal/guard"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/method"
	"fedpvi/pvi/population"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Elements of λ are multiples of 2^-exponent, and at most 2^66 in absolute value.
const exponent = 60

// A Method implements [method.Method] for studies in which clients release the gradient and the
// curvature of their log likelihood.
type Method struct {
	*method.Sums
	model   model
	units   *population.Units
	bases   []int     // [population.Setting].Bases
	weights []float64 // factor w_t by which the vectors of each round are multiplied

	start func() *population.State
	steps memory
}

// New returns a function that makes the study's method from a noise multiplier, a [method.Draft].
func New(s *method.Setting) (method.Draft, error) {
	model, err := modelOf(s)
	if err != nil {
		return nil, err
	}
	units, err := newUnits(s, model)
	if err != nil {
		return nil, err
	}
	bases := basesOf(s.Model)
	size, weights := population.Size(s.Model.Dim(), bases), population.Weights(s.Study.Inference.Rounds)
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
		m := &Method{Sums: sums, model: model, units: units, bases: bases, weights: weights}
		m.start = sync.OnceValue(m.newState)
		return m, nil
	}, nil
}

// With madeUpRecords records, the average information is within about 2 % of its expectation.
const madeUpRecords = 4000

// newUnits returns units in which A + P/n is the identity matrix. A is the average information of a
// synthetic record at the prior mean, and n the nominal number of records. P is the precision of
// the prior, which matters for coefficients about which records have no information.
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

// basesOf returns the base of each coordinate of a regression ([population.Setting]). The base of a
// coefficient is the intercept of the same predictor. If the model has no intercept, basesOf
// returns nil.
func basesOf(m *fit.Model) []int {
	if m.General() || m.Width() == 0 {
		return nil
	}
	for c := range m.Study.Coefficients() {
		if c.Name != study.Intercept {
			return nil
		}
		break
	}
	bases := make([]int, m.Dim())
	for i := range bases {
		bases[i] = -1
		if i < m.Width()*m.Locations() && i%m.Width() > 0 {
			bases[i] = i - i%m.Width()
		}
	}
	return bases
}

// newState returns the state before the first round. Its prior is normal, with the same moments as
// the study's prior.
func (m *Method) newState() *population.State {
	prior := m.model.prior()
	in := m.Study.Inference
	state, ok := population.New(&population.Setting{
		Mean: m.units.To(prior.mean), Precision: m.units.Information(prior.precision),
		Records: float64(m.Study.Federation.NominalRecords), Clients: m.Clients, Weights: m.weights, Noise: m.Noise().SD,
		Pooled: in.Target == study.Pooled, Skewed: m.Model.Linear() == nil, Bases: m.bases, Area: m.area(), Digest: m.Digest,
	})
	if !ok {
		// unreachable: every coordinate has a proper prior
		panic("clientscores: the prior is not proper")
	}
	return state
}

// area returns the region within which clients vote for the modes of their records. It is nil if
// they do not vote.
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

// If the signal is below hopeless, intervals would hardly be narrower than the prior's, so the
// forecast is doubtful ([population.State.Signal]).
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

// A client releases noisy vectors. The only state it keeps is the number of its releases.
type client struct {
	method.NoFactor

	method  *Method
	records records
	noise   dpmech.Noise

	sum    []int64 // scratch space of Release
	vector []float64
}

// If the computation panics, the vector counts as zero, and noise is added as usual.
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

// compute writes the answer to a query, times the weight of the round, to c.vector.
func (c *client) compute(q *population.Query, round int) error {
	m := c.method
	if err := answer(m, c.vector, c.records, q, 1); err != nil {
		return err
	}
	floats.Scale(m.weights[round-1], c.vector)
	return nil
}

// answer writes the answer to q to dst. Each record counts more times, where more need not be a
// whole number.
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

func (c *client) Check(m *method.Memory, answered int) error {
	return method.CheckNoFactor(m, c.method.ReleasesAfter(answered), answered)
}
