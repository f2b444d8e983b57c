package gradientsum

import (
	"encoding/binary"
	"fmt"
	"math"

	"fedpvi/dpmech"
	"fedpvi/gpu"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/solver"
)

// A walk runs gradient descent with the opened sums. λ is the difference between the natural
// parameters of q and those of the prior, rounded to the lattice.
type walk struct {
	setting  *method.Setting
	messages method.Messages
	descent  *solver.SumDescent
	state    []float64 // state of the descent after the last outcome
	next     []float64 // scratch space of Step
	epsilon  []float64
	sum      []float64
	natural  []float64
}

// NewWalk implements [method.Method].
func (m *Method) NewWalk() method.Walk {
	descent, err := newDescent(m.gradients)
	if err != nil {
		panic("gradientsum: " + err.Error()) // unreachable: New has made the same descent before
	}
	return &walk{
		setting: m.Setting, messages: m.Messages(), descent: descent,
		epsilon: make([]float64, m.Model.Dim()), sum: make([]float64, m.Messages().Size), natural: make([]float64, m.Family.Size()),
	}
}

// draw returns public standard normal numbers. From these follows the θ at which the gradients for
// a plan are computed. The slice is valid until the next call.
func (w *walk) draw(number int) []float64 {
	dpmech.FillPublicNormal(w.epsilon, "draw of θ", w.setting.Digest, number)
	return w.epsilon
}

func (w *walk) query(number int) *gpu.Query { return w.descent.Query(w.state, w.draw(number)) }

func (w *walk) Step(n, _ int, _ int64, sum, _ []int64) method.Move {
	unit := w.messages.Lattice.Step()
	for i, x := range sum {
		w.sum[i] = unit * float64(x)
	}
	var finite bool
	if w.next, finite = w.descent.Step(w.next, w.state, w.draw(n), w.sum); !finite {
		return nil
	}
	return w.moveTo(w.next, false)
}

func (w *walk) Begin() []method.Move { return []method.Move{w.moveTo(w.descent.Start(), false)} }

// End first tries to replace q by its average over the last steps. If q oscillated, the average may
// not fit on the lattice. In that case q stays as it is.
func (w *walk) End() []method.Move {
	return []method.Move{w.moveTo(w.state, true), w.moveTo(w.state, false)}
}

func (w *walk) Save() []byte {
	var state []byte
	for _, x := range w.state {
		state = binary.LittleEndian.AppendUint64(state, math.Float64bits(x))
	}
	return state
}

func (w *walk) Restore(_ []lambda.Wide, saved []byte, ended bool) ([]method.Move, error) {
	if len(saved)%8 != 0 {
		return nil, fmt.Errorf("%d bytes are not the state of a descent", len(saved))
	}
	state := make([]float64, len(saved)/8)
	for i := range state {
		state[i] = math.Float64frombits(binary.LittleEndian.Uint64(saved[8*i:]))
	}
	if err := w.descent.Check(state); err != nil {
		return nil, err
	}
	moves := []method.Move{w.moveTo(state, false)}
	if ended {
		moves = []method.Move{w.moveTo(state, true), moves[0]}
	}
	return moves, nil
}

// moveTo returns the move to the λ of a state. If averaged is true, it is the λ of the average of q
// over the last steps. moveTo returns nil if λ does not fit on the lattice.
func (w *walk) moveTo(state []float64, averaged bool) method.Move {
	w.descent.Natural(w.natural, state, averaged)
	to := w.setting.Lambda(w.natural, w.messages.Exponent)
	if to == nil {
		return nil
	}
	return method.NewMove(to, func() { w.state = append(w.state[:0], state...) })
}
