package sites

import (
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/ep"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/steps"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// These are the defaults for settings that are missing in the study.
const (
	// passes is the default number of passes that a client makes over its records in the whole study,
	// times the number of coordinates that a step moves.
	passes        = 20
	leastSteps    = 2   // smallest number of steps in a round
	clipSites     = 0.7 // default clipping bound, relative to the norm of a typical site
	clipIntact    = 1.7 // the same for noise-aware intervals, which do not take clipping into account
	reseatedShare = 2   // clusters may be moved during the first 1/reseatedShare of the steps
	siteCost      = 10  // time for computing a site, relative to a gradient
)

// reached says how far noise may move a coefficient about which there is no information, in prior
// standard deviations. On the data sets Abalone and Adult, with seeds 101 and up, a value of 1
// makes the steps too short on one, and 5 makes the noise too costly on the other.
const reached = 2

// A Method is the method for studies in which clients release noisy sums of sites.
type Method struct {
	*steps.Base
	method.Moves
	options ep.SEPOptions
}

// New returns a function that makes the study's method from a noise multiplier, a [method.Draft].
func New(s *method.Setting) (method.Draft, error) {
	d, err := derive(s)
	if err != nil {
		return nil, err
	}
	start, err := startMean(s)
	if err != nil {
		return nil, err
	}
	return func(multiplier float64) (method.Method, error) {
		m := &Method{Moves: method.Moves{Coordinates: s.Coordinates}}
		var err error
		m.Base, err = steps.New(s, steps.Config{
			Steps: d, Dim: s.Model.SiteSize(s.Family), Releases: 1, Records: stated(s),
			Sampling: func(int) dpmech.Sampling { return sampling(s, d) },
		}, multiplier)
		if err != nil {
			return nil, fmt.Errorf("%w (a vector is a record's gradient, or its site)", err)
		}
		m.options = m.newOptions(start)
		if err := m.SetMessages(s.FactorMessages(nil)); err != nil {
			return nil, err
		}
		if isPublished(s) {
			return newPublished(m)
		}
		return m, nil
	}, nil
}

func derive(s *method.Setting) (*method.Steps, error) {
	in, nominal := s.Study.Inference, s.Study.Federation.NominalRecords
	d := &method.Steps{Round: in.Descent.Steps, Rate: in.Descent.Rate, StepSize: in.Propagation.StepSize, InitialSD: in.Descent.InitialSD, Epoch: 1}
	passes := passes * overlap(s)
	switch {
	case isPublished(s):
		d.Rate, d.Epoch = 1/float64(nominal), nominal
	case d.Rate == 0:
		d.Rate = 1
		if float64(nominal)*passes*float64(s.Family.Size()) > steps.Affordable/siteCost {
			d.Rate = steps.SampledRate
		}
	case in.Descent.Sampling == study.AllocatedSampling:
		d.Epoch = max(1, int(math.Round(1/d.Rate)))
		d.Rate = 1 / float64(d.Epoch)
	}
	if d.Round == 0 {
		d.Round = steps.OfRound(in.Rounds, int(math.Ceil(passes/d.Rate)), leastSteps)
		d.Round = (d.Round + d.Epoch - 1) / d.Epoch * d.Epoch
	}
	if d.Round%d.Epoch != 0 {
		return nil, fmt.Errorf("inference.steps = %d is not a whole number of epochs of %d steps, in which every record is used once: write a multiple", d.Round, d.Epoch)
	}
	d.Total = d.Round * in.Rounds
	if err := steps.CheckTotal(d, in.Rounds); err != nil {
		return nil, err
	}
	return d, deriveClip(s, d)
}

// deriveClip sets d.Clip. By default it is a constant times the norm of a typical site. Close to
// the mean of q, a site's precision times mean is about as long as a gradient. The site's precision
// is about the curvature of the record, and counts only if all its elements are released.
func deriveClip(s *method.Setting, d *method.Steps) error {
	if d.Clip = s.Study.Privacy.Clip; d.Clip > 0 {
		if d.Clip < steps.LeastClip || d.Clip > steps.MostClip {
			return fmt.Errorf("privacy.clip = %g is outside the possible norms of a site: write a clip from %g to %g", d.Clip, steps.LeastClip, steps.MostClip)
		}
		return nil
	}
	if d.Typical = s.Model.TypicalGradient(); d.Typical == 0 {
		return steps.ErrNoClip
	}
	if s.Family.Name() == "full" {
		d.Typical = math.Hypot(d.Typical, s.Study.Inference.Propagation.PrecisionWeight*s.Model.Curvature()*s.Study.TypicalSquares())
	}
	d.Typical *= s.TypicalRows()
	d.Clip = clipSites * d.Typical
	if s.Study.Inference.NoiseAware == study.OneStep {
		d.Clip = clipIntact * d.Typical
	}
	return nil
}

// isPublished reports whether the study takes the steps of the DP-SEP paper.
func isPublished(s *method.Setting) bool {
	return s.Study.Inference.Descent.Sampling == study.PublishedSampling
}

// stated returns the number of records that the reported cost is computed for. It is the nominal
// number for the published algorithm, and the largest number otherwise.
func stated(s *method.Setting) int {
	if isPublished(s) {
		return s.Study.Federation.NominalRecords
	}
	return s.Study.Federation.MaxRecords
}

func sampling(s *method.Setting, d *method.Steps) dpmech.Sampling {
	switch {
	case isPublished(s):
		return dpmech.Permutation{Batches: d.Epoch}
	case d.Epoch > 1:
		return dpmech.RandomAllocation{Steps: d.Epoch, Picks: 1}
	case d.Rate == 1:
		return dpmech.FullBatch{}
	}
	return dpmech.Poisson{Rate: d.Rate}
}

// overlap computes [Method.Overlap].
func overlap(s *method.Setting) float64 {
	if s.Family.Name() == "full" {
		return 1
	}
	return float64(s.Model.Touched())
}

// glides reports whether the mean of q moves with momentum and is averaged over steps. It does if a
// step moves several coordinates, the model is a regression and so has a single mode, and there is
// only one round, so that no other client's factor changes in the meantime.
func glides(s *method.Setting) bool {
	family := s.Study.Model.Family
	return overlap(s) > 1 && s.Study.Inference.Rounds == 1 && family != study.Mixture && family != study.NeuralNetwork
}

// Overlap returns an upper bound on the number of coordinates of θ that one record depends on,
// where clusters are counted separately. A step moves each coordinate as if the others stayed
// fixed. With a full covariance, a step moves all coordinates jointly, and Overlap returns 1.
func (m *Method) Overlap() float64 { return m.options.Overlap }

// Glides reports whether the mean of a client's q moves with momentum and is averaged over steps.
func (m *Method) Glides() bool { return m.options.Glide }

// Options returns the options of the clients' solver.
func (m *Method) Options() ep.SEPOptions { return m.options }

// startMean returns the mean of q for the first sites, or nil to use the prior mean.
func startMean(s *method.Setting) ([]float64, error) {
	how := s.Study.Inference.Propagation
	switch {
	case how.Start == study.DrawnStart:
		return drawnStart(s), nil
	case how.StartAt != nil:
		return s.Model.Start(how.StartAt)
	}
	return nil, nil
}

// drawnStart returns a draw from the prior with public random numbers.
func drawnStart(s *method.Setting) []float64 {
	at := make([]float64, s.Model.Dim())
	dpmech.FillPublicNormal(at, "start of expectation propagation", s.Digest, 0)
	for i, parameter := range s.Model.Parameters.All() {
		at[i] = parameter.Prior.Mean + parameter.Prior.SD*at[i]
	}
	return at
}

func (m *Method) newOptions(start []float64) ep.SEPOptions {
	d, how := m.Steps(), m.Study.Inference.Propagation
	o := ep.SEPOptions{
		Power: how.Power, Rate: d.Rate, StepSize: how.StepSize, Recency: how.Recency,
		Overlap: overlap(m.Setting), Glide: glides(m.Setting), Nominal: float64(m.Study.Federation.NominalRecords),
		Deviation: how.Contribution == study.DeviationContribution, Improper: how.Improper, Raw: how.Raw,
		Published: isPublished(m.Setting), Clip: d.Clip,
		PrecisionNoise: m.Noise().SD / (d.Rate * how.PrecisionWeight), StartSD: d.InitialSD, StartMean: start,
	}
	if how.Reseat {
		o.Reseat = d.Total / reseatedShare
	}
	if o.Published {
		o.PrecisionNoise = 0
	} else {
		o.Least = m.leastPrecisions(&o)
	}
	return o
}

// leastPrecisions returns lower bounds on the precisions that gradients are divided by in a step.
// If all steps together have length a, noise with standard deviation τ in the gradient moves a
// coordinate by τa divided by its precision. This must be at most reached prior standard
// deviations.
func (m *Method) leastPrecisions(o *ep.SEPOptions) []float64 {
	if !o.Glide {
		return nil
	}
	tau := m.Noise().SD / o.Rate * math.Sqrt(o.NoiseLeft(m.Steps().Total))
	reach := o.Reach(m.Steps().Total)
	least := make([]float64, m.Model.Dim())
	for i, parameter := range m.Model.Parameters.All() {
		least[i] = tau * reach / (reached * parameter.Prior.SD)
	}
	return least
}

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast { return m.NewForecast(m.AveragedNoise()) }

// AveragedNoise implements [method.Stepped]. It returns the standard deviation of the noise in an
// element of the factor's precision times mean, in coordinates around the mean of q and averaged
// over the steps.
func (m *Method) AveragedNoise() float64 {
	return m.Noise().SD / m.Steps().Rate * math.Sqrt(m.options.MeanNoiseLeft(m.Steps().Total))
}

// ClosedFormNoise implements [method.Stepped].
func (m *Method) ClosedFormNoise() float64 {
	return m.AveragedNoise() * math.Sqrt(float64(m.Clients))
}

// NewSolver implements [method.Refining].
func (m *Method) NewSolver(s *shard.Shard) (solver.Solver, error) {
	mechanism, err := m.For(s)
	if err != nil {
		return nil, err
	}
	refine, err := ep.NewDPSEP(m.Model.Tilted(s, m.Family, m.Clients), mechanism, m.options, m.Steps().Round)
	if err != nil {
		return nil, err
	}
	return m.SplitPrior(refine), nil
}

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) { return method.NewRefined(m, s) }

// NewSolverClient implements [method.Refining].
func (m *Method) NewSolverClient(s solver.Solver) method.Client {
	return steps.NewClient(m, m.Base, s)
}

// A published method visits the records in random order, but claims the cost of steps that each
// draw one record independently. This cost is too low.
type published struct {
	*Method
	claimed *dpmech.SampledSum
}

func newPublished(m *Method) (method.Method, error) {
	claimed, err := m.Claimed(dpmech.WithoutReplacement{Batch: 1})
	if err != nil {
		return nil, err
	}
	return published{m, claimed}, nil
}

// If there is only one record, the claim is right.
func (p published) Published() string {
	if p.Steps().Rate < 1 {
		return method.PublishedSampling
	}
	return ""
}

func (p published) Claim(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return steps.EventOf(p.claimed, shares, adjacency, releases)
}

func (p published) Proved(shares int) int { return shares }

func (p published) Truth(e method.Estimates) method.Cost {
	truth := e.Proved
	truth.Epsilon, truth.Method = e.Lower, "from below, for a permutation of the records in every pass, without credit for its order"
	return truth
}

// The number of steps in a pass reveals the number of records.
func (p published) Adjacencies() []accountant.Adjacency {
	return []accountant.Adjacency{p.Study.Privacy.Adjacency}
}

func (p published) CheckShard(s *shard.Shard) error {
	if nominal := p.Study.Federation.NominalRecords; s.Len() != nominal {
		return fmt.Errorf("the shard must have federation.nominal_records = %d records, one for each step of a pass of the published form", nominal)
	}
	return nil
}
