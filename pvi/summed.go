package pvi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/gpu"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// Where federation.opens = "sums" protects single records, a round opens one sum of
// clipped gradients over all records of the clients that answered, and every machine
// moves q by it for itself. A release is the only thing that a client computes from
// its records, so that nothing hidden in the sum shows elsewhere.

// Summed reports whether opened sums of gradients move q, rather than changes of
// factors.
func (p *Protocol) Summed() bool {
	return p.study.Privacy.Unit == study.Record && p.study.Federation.Opens == study.OpenSums && p.study.Inference.Partitions.Count == 0
}

// messageSize returns the number of elements of a release.
func (p *Protocol) messageSize() int {
	if p.Summed() {
		return p.sampled.Dim()
	}
	return p.family.Size()
}

// shares returns how many clients' noise shares together hide one client or record
// from whom the study's target is about.
func (p *Protocol) shares() int {
	if p.study.Federation.Opens == study.OpenSums {
		return p.roster.Fewest - p.study.Federation.Colluders
	}
	return 1
}

// lambdaExponent is the precision of λ where it follows from a descent. It leaves 2^66
// for its elements.
const lambdaExponent = 60

// newSumDescent returns the descent that every machine follows, with a state of its
// own.
func (p *Protocol) newSumDescent() (*solver.SumDescent, error) {
	none, err := p.model.Records(shard.Design(p.study, new(shard.Records)), 1)
	if err != nil {
		return nil, err
	}
	return solver.NewSumDescent(none, p.descentOptions(0))
}

// newGradientSum returns what releases sums of the gradients of a client's records.
func (p *Protocol) newGradientSum(s *shard.Shard) (*solver.GradientSum, error) {
	program, err := p.model.Records(s, len(p.roster.Clients))
	if err != nil {
		return nil, err
	}
	mechanism, err := p.sampledFor(s.Len(), p.sampled.NoiseMultiplier())
	if err != nil {
		return nil, err
	}
	return solver.NewGradientSum(program, mechanism)
}

// releaseGradients answers a plan with the noisy sum of the records' gradients. It is
// charged before anything looks at the records.
func (s *Site) releaseGradients(r *Release, plan *Plan, src *dpmech.Stream) error {
	s.spent.Statistics++
	s.answered = plan.Number
	n := s.protocol.messageSize()
	dst := slices.Grow(r.Change, n)[:n]
	if err := s.gradients.Release(dst, s.q.query(plan.Number), src); err != nil {
		return fmt.Errorf("client %s: %w", s.id, err)
	}
	r.Protocol, r.Number, r.Client, r.Change = plan.Protocol, plan.Number, s.id, dst
	s.open = plan.Number
	return nil
}

// A summed is the part of a posterior that follows a descent by sums.
type summed struct {
	descent     *solver.SumDescent
	state, next []float64
	epsilon     []float64
	sum         []float64
	natural     []float64
	lambda      []Wide // where the last try led
}

func newSummed(p *Protocol) *summed {
	descent, err := p.newSumDescent()
	if err != nil {
		panic("pvi: " + err.Error()) // unreachable: NewProtocol made one
	}
	return &summed{
		descent: descent,
		epsilon: make([]float64, p.model.Dim()), sum: make([]float64, p.messageSize()), natural: make([]float64, p.family.Size()),
		lambda: make([]Wide, p.family.Size()),
	}
}

// draw writes the ε of a plan's step, which everybody can compute.
func (q *posterior) draw(number int) []float64 {
	dpmech.FillPublicNormal(q.summed.epsilon, "draw of θ", q.protocol.digest, number)
	return q.summed.epsilon
}

// query returns where the gradients that a plan asks for are taken.
func (q *posterior) query(number int) *gpu.Query {
	return q.summed.descent.Query(q.summed.state, q.draw(number))
}

// tryStep computes the λ to which the sum of plan number n leads.
func (q *posterior) tryStep(n int, sum []int64) (proper bool) {
	s := q.summed
	unit := q.protocol.lattice.Step()
	for i, x := range sum {
		s.sum[i] = unit * float64(x)
	}
	var finite bool
	s.next, finite = s.descent.Step(s.next, s.state, q.draw(n), s.sum)
	return finite && q.tryState(s.next, false)
}

// tryState computes the λ of a state: of q as it is, or averaged.
func (q *posterior) tryState(state []float64, averaged bool) (proper bool) {
	s, p := q.summed, q.protocol
	s.descent.Natural(s.natural, state, averaged)
	for i, x := range s.natural {
		var ok bool
		if s.lambda[i], ok = lambda.Round(x-p.priorAt(i), p.exponent); !ok {
			return false
		}
	}
	return q.tryMove(func(bool) { q.lambda, s.lambda = s.lambda, q.lambda })
}

// take makes a state the posterior's, if it leads to a proper distribution: to q as it
// is or, at the end of the study, averaged. (An average of q that ran to and fro may be
// beyond the lattice. Then q stays as it is.)
func (q *posterior) take(state []float64, end bool) (proper bool) {
	if !(end && q.tryState(state, true)) && !q.tryState(state, false) {
		return false
	}
	q.summed.next = append(q.summed.next[:0], state...)
	q.commit()
	return true
}

// end follows the last outcome of the study: where sums move q, what it was on average
// takes the place of what it is.
func (q *posterior) end() {
	if q.summed != nil {
		q.take(q.summed.state, true)
	}
}

// lambdaTolerance is how far λ of two machines may be apart where floating-point
// arithmetic leads to it, in units of an element's own scale: of the precision, or of
// its root for precision times mean. Rounding differs by some 2^-45 after a thousand
// steps.
const lambdaTolerance = 0x1p-24

// same reports whether lambda is the posterior's: exactly, or up to rounding where sums
// move q. Nothing private rests on it. A client's records show in the sum of gradients
// at a θ, of which one record makes up no more than the clip, whatever θ is and whoever
// chose it, as long as it did so without the records.
func (q *posterior) same(lambda []Wide) bool {
	if q.summed == nil {
		return slices.Equal(lambda, q.lambda)
	}
	return len(lambda) == len(q.lambda) && q.near(lambda)
}

func (q *posterior) near(lambda []Wide) bool {
	d, natural := q.protocol.family.Dim(), q.natural()
	for i, w := range lambda {
		gap := math.Abs(w.Add(q.lambda[i].Neg()).Float(q.protocol.exponent))
		scale := natural[i%d+d]
		if i < d {
			scale = math.Abs(natural[i]) + math.Sqrt(scale)
		}
		if !(gap <= lambdaTolerance*scale) {
			return false
		}
	}
	return true
}

// marshal returns what a descent remembers, nil if there is none.
func (s *summed) marshal() []byte {
	if s == nil {
		return nil
	}
	var state []byte
	for _, x := range s.state {
		state = binary.LittleEndian.AppendUint64(state, math.Float64bits(x))
	}
	return state
}

// restoreDescent sets the descent to a state that was saved beside lambda. done says
// that the study is at its end.
func (q *posterior) restoreDescent(saved []byte, lambda []Wide, done bool) error {
	if q.summed == nil {
		return phase.Within("bytes of a descent", len(saved), 0, 0)
	}
	if len(saved)%8 != 0 {
		return fmt.Errorf("%d bytes are no state of a descent", len(saved))
	}
	state := make([]float64, len(saved)/8)
	for i := range state {
		state[i] = math.Float64frombits(binary.LittleEndian.Uint64(saved[8*i:]))
	}
	if err := q.summed.descent.Check(state); err != nil {
		return err
	}
	if !q.take(state, done) {
		return errors.New("the descent has left every proper distribution")
	}
	if !q.same(lambda) {
		return errors.New("λ does not follow from the state of the descent")
	}
	return nil
}
