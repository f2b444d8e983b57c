package sim

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// Options say how a study is played.
type Options struct {
	StudyFile string // where the study was read, to find its data
	DataFile  string // records to use instead of the study's
	Seed      uint64 // study.Simulation.Seed unless the user asked for another
	Workers   int    // goroutines; 1 if 0
}

// A Play is a study that is set up and not yet finished.
type Play struct {
	Federation *Federation
	Reference  *Reference
	Report     shard.Report // what reading, and the scale that was found, did to the records

	// Truth is θ of records that were made up, on the model's scale; nil for others, and
	// where clients differ in θ or the scale is to be found.
	Truth   []float64
	adopted []float64 // natural parameters in place of the federation's; nil if none

	test *shard.Shard // records to predict; nil if there are none
	last []float64    // natural parameters when moved was last called
}

// NewPlay reads or makes the records, deals them to clients and sets up the
// federation.
func NewPlay(st *study.Study, o Options) (*Play, error) {
	c, err := newCast(st, o.StudyFile, o.DataFile, o.Seed)
	if err != nil {
		return nil, err
	}
	return c.play(st, o)
}

// play sets up the federation of a cast.
func (c *cast) play(st *study.Study, o Options) (*Play, error) {
	f, err := New(st, c.holders, o.Seed, max(1, o.Workers))
	if err != nil {
		return nil, err
	}
	if f.Scale != nil {
		c.report.Beyond = f.Scale.Beyond
	}
	reference, err := NewReference(f.Protocol, f.Shards)
	if err != nil {
		return nil, err
	}
	last := append([]float64(nil), f.Server.Posterior()...)
	truth, err := truthOf(st, o)
	if err != nil {
		return nil, err
	}
	return &Play{Federation: f, Truth: truth, Reference: reference, Report: c.report, test: c.design(f.Protocol.Study()), last: last}, nil
}

// Status is where a play stands after an outcome.
type Status struct {
	Outcome  *pvi.Outcome
	Outcomes int      // so far
	Of       int      // in the whole study
	Change   float64  // of λ with the last outcome, relative to how far λ is from the prior
	Epsilon  *float64 // what a client has spent so far, as far as it can be proved; nil if the study makes no promise
}

// Run plays to the end or until ctx is done, calling observe after every
// outcome, and returns the result.
func (p *Play) Run(ctx context.Context, observe func(Status) error) (*Result, error) {
	if b := p.Federation.Protocol.Study().Simulation.Baseline; b != study.NoBaseline {
		return nil, fmt.Errorf("simulation.baseline = %q is no federation: a sweep runs it beside one", b)
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

// predict adds to a result how well it and the reference predict.
func (p *Play) predict(r *Result) (err error) {
	m := p.Federation.Protocol.Model()
	if r.Test, r.Predicted, err = predict(m, p.test, p.Federation.Protocol.Family(), r.Natural); err != nil {
		return err
	}
	r.NonPrivateTest, err = p.PooledTest()
	return err
}

// Test returns how the present posterior predicts the records that nobody holds, nil
// if there are none.
func (p *Play) Test() (*Predictions, error) {
	if p.test == nil {
		return nil, nil
	}
	protocol := p.Federation.Protocol
	found, _, err := predict(protocol.Model(), p.test, protocol.Family(), p.Posterior())
	return found, err
}

// PooledTest returns how the fit of the pooled records predicts them.
func (p *Play) PooledTest() (*Predictions, error) {
	if p.test == nil {
		return nil, nil
	}
	found, _, err := predict(p.Federation.Protocol.Model(), p.test, p.Reference.family, p.Reference.Natural)
	return found, err
}

// odometer returns a function that says what a client has spent so far, against
// the study's own observer; nil if the study makes no promise. It computes an ε
// only when another release was made.
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

// moved returns how far λ moved since the last call.
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

// KL returns the divergence of the present posterior from the reference.
func (p *Play) KL() (float64, error) {
	return p.Reference.KL(p.Federation.Protocol.Family(), p.Posterior())
}

// Posterior returns the natural parameters of the present posterior, which are not a
// copy.
func (p *Play) Posterior() []float64 {
	if p.adopted != nil {
		return p.adopted
	}
	return p.Federation.Server.Posterior()
}

// Adopt takes natural parameters, of the study's family, that another method found in
// place of the federation's.
func (p *Play) Adopt(natural []float64) { p.adopted = natural }

// Observe adds where the play stands to a history, if that wants it.
func (p *Play) Observe(h *History, s Status) error {
	if !h.Wants(s.Outcomes) && s.Outcomes < s.Of {
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

// ObserveLast adds the outcome of the release after the rounds to a history, if there was
// one: it moves no posterior, and is paid for.
func (p *Play) ObserveLast(h *History, r *Result) {
	if p.Federation.LastOutcome == nil || len(h.Points) == 0 {
		return
	}
	last := h.Points[len(h.Points)-1]
	last.Outcome++
	last.Epsilon = &r.Privacy.Epsilon
	h.Points = append(h.Points, last)
}

// Normals returns standard normal variates for drawing chains from the
// posterior.
func (p *Play) Normals(chain int) func() float64 {
	return variates(p.Federation.seed, purposeDraws, uint64(chain)).NormFloat64
}

// Protocol derives what a study comes to for a number of clients with made-up
// names; 0 takes the number from the study's simulation. Where a standardisation
// would find the scale of columns first, the public bounds stand in for it.
func Protocol(st *study.Study, clients int) (*pvi.Protocol, error) {
	if clients == 0 {
		clients = st.Simulation.Clients
	}
	if clients < 0 {
		return nil, fmt.Errorf("study %s: %d clients: give a number of at least 1", st.Name, clients)
	}
	if clients == 0 {
		return nil, fmt.Errorf("study %s: it has no [simulation] table, which would say how many clients there are: give the number", st.Name)
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
