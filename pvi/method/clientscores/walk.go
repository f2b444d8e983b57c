package clientscores

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/population"
)

// A walk computes the posterior from the opened sums. The posterior need not be Gaussian, and λ
// stands for the Gaussian with the same moments: its natural parameters minus those of the prior,
// rounded to the lattice.
type walk struct {
	method *Method
	state  *population.State
	opened []opened
}

// opened is the sum that was opened for one plan.
type opened struct {
	number, answers int
	sum             []int64
}

// NewWalk implements [method.Method].
func (m *Method) NewWalk() method.Walk { return &walk{method: m, state: m.start()} }

func (w *walk) Step(n, answers int, _ int64, sum, _ []int64) method.Move {
	o := opened{n, answers, slices.Clone(sum)}
	s := w.method.steps.take(w.method, w.state, o)
	if s.lambda == nil {
		return nil
	}
	return w.moveTo(s.state, append(slices.Clip(w.opened), o), s.lambda)
}

// moveTo returns the move to the given state. Its λ is to.
func (w *walk) moveTo(state *population.State, opened []opened, to []lambda.Wide) method.Move {
	return method.NewMove(to, func() { w.state, w.opened = state, opened })
}

func (w *walk) Begin() []method.Move {
	return []method.Move{w.moveTo(w.state, nil, make([]lambda.Wide, w.method.Family.Size()))}
}

func (w *walk) End() []method.Move { return nil }

// Save implements [method.Walk]. The saved state is the list of opened sums.
func (w *walk) Save() []byte {
	var saved []byte
	for _, o := range w.opened {
		saved = binary.LittleEndian.AppendUint64(saved, uint64(o.number))
		saved = binary.LittleEndian.AppendUint64(saved, uint64(o.answers))
		for _, x := range o.sum {
			saved = binary.LittleEndian.AppendUint64(saved, uint64(x))
		}
	}
	return saved
}

// Restore implements [method.Walk]. It computes the state again from all saved sums.
func (w *walk) Restore(_ []lambda.Wide, saved []byte, _ bool) ([]method.Move, error) {
	m := w.method
	size := m.Messages().Size
	each := 8 * (2 + size)
	if len(saved)%each != 0 || len(saved) > each*m.Releases() {
		return nil, fmt.Errorf("%d bytes are not a list of opened sums", len(saved))
	}
	last := &step{state: m.start(), lambda: make([]lambda.Wide, m.Family.Size())}
	var all []opened
	before := 0
	for ; len(saved) > 0; saved = saved[each:] {
		number := func(i int) int64 { return int64(binary.LittleEndian.Uint64(saved[8*i:])) }
		o := opened{int(number(0)), int(number(1)), make([]int64, size)}
		if o.number <= before || o.number > m.Releases() || o.answers < 1 || o.answers > m.Clients {
			return nil, errors.New("a saved sum belongs to no round of the study")
		}
		before = o.number
		for i := range o.sum {
			o.sum[i] = number(2 + i)
		}
		if last = m.steps.take(m, last.state, o); last.lambda == nil {
			return nil, fmt.Errorf("the sum of round %d gives no posterior", o.number)
		}
		all = append(all, o)
	}
	return []method.Move{w.moveTo(last.state, all, last.lambda)}, nil
}

// A step is a change of the state by an opened sum. lambda is nil if the posterior after the step
// is improper.
type step struct {
	from   *population.State
	opened opened

	state  *population.State
	lambda []lambda.Wide
}

// memory caches the latest steps, because all clients of a simulation take the same ones.
type memory struct {
	mu    sync.Mutex
	steps []*step
}

// take returns the step that leads on from the state from, with the opened sum o.
func (t *memory) take(m *Method, from *population.State, o opened) *step {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.steps {
		if s.from == from && s.opened.number == o.number && s.opened.answers == o.answers && slices.Equal(s.opened.sum, o.sum) {
			return s
		}
	}
	if len(t.steps) > m.Releases() {
		t.steps = t.steps[1:]
	}
	s := m.step(from, o)
	t.steps = append(t.steps, s)
	return s
}

func (m *Method) step(from *population.State, o opened) *step {
	sum, unit := make([]float64, len(o.sum)), m.Messages().Lattice.Step()
	for i, x := range o.sum {
		sum[i] = unit * float64(x)
	}
	s := &step{from: from, opened: o}
	state, ok := from.Next(m.Round(o.number), o.answers, sum)
	if !ok {
		return s
	}
	q := state.Posterior()
	natural := make([]float64, m.Family.Size())
	if m.Family.FromMoments(natural, m.units.From(q.Mean()), m.units.Covariance(q.Covariance())) != nil {
		return s
	}
	if to := m.Lambda(natural, m.Messages().Exponent); to != nil {
		s.state, s.lambda = state, to
	}
	return s
}
