package sim

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Options configures a Play.
type Options struct {
	StudyFile string // path of the study file, in whose folder data files are looked for first
	DataFile  string // file of records to use in place of the study's files
	Seed      uint64
	Workers   int // number of goroutines; 1 if 0

	// Secure, if not nil, makes the clients use secure sums in all phases. The results stay the
	// same bit for bit. Secure is a clock in seconds with which the computing time is measured.
	Secure func() float64

	// Stop, if not nil, ends the fit of the pooled records when it returns true. The report then
	// says that the fit is unfinished.
	Stop func() bool
}

// A Play is a study that is set up to run in this process.
type Play struct {
	Federation *Federation
	Reference  *Reference // nil if the study has no model
	// Report counts the records and values that reading changed, and the values that were clamped
	// to the standardised range.
	Report shard.Report

	// Truth is the θ from which the records were generated, on the model's scale (see truthOf).
	Truth   []float64
	adopted []float64 // natural parameters of another method's posterior; nil if the federation's posterior counts

	test *shard.Shard // held-out records; nil if there are none
	last []float64    // natural parameters of the posterior when moved was last called
}

// NewPlay reads or generates the records, deals them to clients, and sets up the federation.
func NewPlay(st *study.Study, o Options) (*Play, error) {
	c, err := newCast(st, o.StudyFile, o.DataFile, o.Seed)
	if err != nil {
		return nil, err
	}
	return c.play(st, o)
}

func (c *cast) play(st *study.Study, o Options) (*Play, error) {
	f, err := newFederation(st, c.holders, o.Seed, max(1, o.Workers), o.Secure)
	if err != nil {
		return nil, err
	}
	if f.Scale != nil {
		c.report.Beyond = f.Scale.Beyond
	}
	c.report.Surplus = 0
	for m, h := range kept(st, c.holders) {
		c.report.Surplus += c.holders[m].Records.Len() - h.Records.Len()
	}
	var reference *Reference
	if !st.Model.Absent() {
		if reference, err = NewReference(f.Protocol, f.Shards, o.Stop); err != nil {
			return nil, err
		}
	}
	last := append([]float64(nil), f.Server.Posterior()...)
	truth, err := truthOf(st, o)
	if err != nil {
		return nil, err
	}
	return &Play{Federation: f, Truth: truth, Reference: reference, Report: c.report, test: c.design(f.Protocol.Study()), last: last}, nil
}

// Status describes the progress of a simulation after an outcome.
type Status struct {
	Outcome  *pvi.Outcome
	Outcomes int      // number of outcomes so far
	Of       int      // number of outcomes planned for the whole study
	Change   float64  // size of the last step of q's natural parameters λ, relative to the distance of λ from the prior
	Epsilon  *float64 // proven upper bound on each client's ε so far; nil without privacy
}

// Run runs the study until it ends or ctx is done, and returns the result. It calls observe after
// every outcome.
func (p *Play) Run(ctx context.Context, observe func(Status) error) (*Result, error) {
	if b := p.Federation.Protocol.Study().Simulation.Baseline; b != study.NoBaseline {
		return nil, fmt.Errorf("simulation.baseline = %q is not a federation: run it in a sweep, beside one", b)
	}
	spent := p.odometer()
	err := p.Federation.Run(ctx, func(o *pvi.Outcome) error {
		status := Status{Outcome: o, Outcomes: o.Sequence, Of: p.Federation.Protocol.Plans(), Change: p.moved()}
		var err error
		if status.Epsilon, err = spent(); err != nil {
			return err
		}
		return observe(status)
	})
	if err != nil {
		return nil, err
	}
	result, err := p.Federation.Result(p.Reference)
	if err != nil {
		return nil, err
	}
	result.ComputedOn = p.Federation.computedOn
	if p.test == nil {
		return result, nil
	}
	return result, p.predict(result)
}

// predict adds predictions of the held-out records under the posterior and under the pooled fit.
func (p *Play) predict(r *Result) (err error) {
	m := p.Federation.Protocol.Model()
	family, err := gaussian.New(r.Family, m.Dim())
	if err != nil {
		return err
	}
	if r.Test, r.Predicted, err = predict(m, p.test, family, r.Natural); err != nil {
		return err
	}
	r.NonPrivateTest, err = p.PooledTest()
	return err
}

// Check adds posterior predictive checks to a result of [Play.Run]. They use the held-out records
// or, if there are none, all records. Check does nothing in version 1 of the study language, or
// without a posterior.
func (p *Play) Check(r *Result) error {
	m := p.Federation.Protocol.Model()
	if m.Study.Version == 1 || r.Posterior == nil {
		return nil
	}
	records := p.test
	if records == nil {
		records = shard.Join(p.Federation.Shards)
	}
	family, err := gaussian.New(r.Family, m.Dim())
	if err != nil {
		return err
	}
	r.Checks, err = m.Check(records, family, r.Natural, variates(p.Federation.seed, purposeCheck))
	return err
}

// Test measures how well the current posterior predicts the held-out records. It returns nil if
// there are none.
func (p *Play) Test() (*Predictions, error) {
	if p.test == nil {
		return nil, nil
	}
	protocol := p.Federation.Protocol
	found, _, err := predict(protocol.Model(), p.test, protocol.Family(), p.Posterior())
	return found, err
}

// PooledTest measures how well the fit of the pooled records predicts the held-out records. It
// returns nil if there are none.
func (p *Play) PooledTest() (*Predictions, error) {
	if p.test == nil {
		return nil, nil
	}
	found, _, err := predict(p.Federation.Protocol.Model(), p.test, p.Reference.family, p.Reference.Natural)
	return found, err
}

// odometer returns a function that computes the proven bound on a client's ε so far, against an
// observer of the public messages. It returns nil without privacy. The bound is the same for all
// clients, because they have made equally many releases.
func (p *Play) odometer() func() (*float64, error) {
	protocol := p.Federation.Protocol
	if protocol.Study().Privacy.Unit == study.None {
		return func() (*float64, error) { return nil, nil }
	}
	releases, epsilon := 0, new(float64)
	return func() (*float64, error) {
		n := p.Federation.Sites[0].Releases()
		if n != releases {
			cost, err := protocol.Cost(protocol.Views()[0], protocol.Study().Privacy.Adjacency, n)
			if err != nil {
				return nil, err
			}
			releases, epsilon = n, &cost.Epsilon
		}
		return epsilon, nil
	}
}

// moved returns how far λ, the natural parameters of the server's q, has moved since the previous
// call, relative to its distance from the prior. It returns 0 if λ equals the prior.
func (p *Play) moved() float64 {
	now, prior := p.Federation.Server.Posterior(), p.Federation.Protocol.Prior()
	var step, way float64
	for i, x := range now {
		step += (x - p.last[i]) * (x - p.last[i])
		way += (x - prior[i]) * (x - prior[i])
	}
	copy(p.last, now)
	if way == 0 {
		return 0
	}
	return math.Sqrt(step / way)
}

// KL returns the KL divergence of the current posterior from the reference.
func (p *Play) KL() (float64, error) {
	return p.Reference.KL(p.Federation.Protocol.Family(), p.Posterior())
}

// Posterior returns the natural parameters of the current posterior, which the caller must not
// change.
func (p *Play) Posterior() []float64 {
	if p.adopted != nil {
		return p.adopted
	}
	return p.Federation.Server.Posterior()
}

// Adopt replaces the posterior of p by another method's posterior. natural holds its natural
// parameters, in the layout of the study's family.
func (p *Play) Adopt(natural []float64) { p.adopted = natural }

// Observe adds the current state to h if the study has a model, and if h wants the outcome
// ([History.Wants]) or the outcome is the last planned one.
func (p *Play) Observe(h *History, s Status) error {
	if p.Reference == nil || !h.Wants(s.Outcomes) && s.Outcomes < s.Of {
		return nil
	}
	kl, err := p.KL()
	if err != nil {
		return err
	}
	h.Add(Point{
		Outcome: s.Outcomes,
		Natural: slices.Clone(p.Federation.Server.Posterior()),
		KL:      kl,
		Epsilon: s.Epsilon,
	})
	return nil
}

// ObserveLast adds a point to the history if there was a last round, which leaves the posterior
// unchanged but costs privacy.
func (p *Play) ObserveLast(h *History, r *Result) {
	if p.Federation.LastOutcome == nil || len(h.Points) == 0 {
		return
	}
	last := h.Points[len(h.Points)-1]
	last.Outcome++
	last.Epsilon = &r.Privacy.Epsilon
	h.Points = append(h.Points, last)
}

// Normals returns a generator of standard normal numbers for one chain of posterior draws.
func (p *Play) Normals(chain int) func() float64 {
	return variates(p.Federation.seed, purposeDraws, uint64(chain)).NormFloat64
}

// Protocol derives the protocol of a study for the given number of clients, with invented names. If
// clients is 0, the number comes from the study's simulation. Public bounds replace estimated
// scales.
func Protocol(st *study.Study, clients int) (*pvi.Protocol, error) {
	if clients == 0 {
		clients = st.Simulation.Clients
	}
	if clients < 0 {
		return nil, fmt.Errorf("study %s: %d clients: give a number of at least 1", st.Name, clients)
	}
	if clients == 0 {
		return nil, fmt.Errorf("study %s: it has no [simulation] table with the number of clients: give the number", st.Name)
	}
	roster := make([]pvi.ClientID, clients)
	for m := range roster {
		roster[m] = clientID(m, clients)
	}
	if !st.HasScale() {
		public, err := st.WithScale(st.PublicScale())
		if err != nil {
			return nil, err
		}
		st = public
	}
	return pvi.NewProtocol(st, roster)
}
