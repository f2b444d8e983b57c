// Package tables is the method for studies without a model. In the only round, each client releases
// the sum of its records' vectors. Package describe computes tables from the sum over clients. λ
// has no elements.
package tables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/internal/guard"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
)

// A Method implements [method.Method] for studies in which clients release sums for tables.
type Method struct {
	*method.Sum
	layout *describe.Layout
}

// level is the confidence level of the intervals in the tables.
const level = 0.95

// New returns a function that makes the study's method from a noise multiplier, a [method.Draft].
// The study must ask for tables.
func New(s *method.Setting) (method.Draft, error) {
	layout := describe.New(s.Study)
	return func(multiplier float64) (method.Method, error) {
		sum, err := s.NewSum(dpmech.Config{
			Dim: layout.Size(), Clip: layout.Norm(), NoiseMultiplier: multiplier,
			Shares: s.Shares(), Terms: s.Study.Federation.MaxRecords, Releases: s.Clients, PerUnit: s.PerUnit(),
		}, 1)
		if err != nil {
			return nil, err
		}
		m := &Method{Sum: sum, layout: layout}
		of := sum.Mechanism()
		return m, sum.SetMessages(method.Messages{Size: layout.Size(), Lattice: of.Lattice(), Range: phase.RangeOf(s.Study, of, s.Clients)}, nil)
	}, nil
}

// TablesSD returns the standard deviation of the noise in a count of the tables, if all clients
// answer.
func (m *Method) TablesSD() float64 {
	of := m.Mechanism()
	return of.Lattice().Step() * float64(of.ShareSigma()) * math.Sqrt(float64(m.Clients))
}

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast { return m.NewForecast(m.Noise()) }

// Exact implements [method.Method]. λ has no elements.
func (m *Method) Exact() bool { return true }

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) {
	return &client{method: m, records: s}, nil
}

// A client is the part of the method that runs at a client. It makes one release.
type client struct {
	method.NoFactor

	method  *Method
	records *shard.Shard
}

func (c *client) Release(dst []int64, _ *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	c.Count()
	vector := make([]float64, len(dst))
	return true, c.method.Mechanism().Release(dst, make([]int64, len(dst)), src, func(add func([]float64) error) error {
		for i := range c.records.Len() {
			if guard.Run(func() { c.method.layout.Vector(vector, c.records.Described(i)) }) != nil {
				clear(vector) // a record that was left out counts as if it were empty
			}
			if err := add(vector); err != nil {
				return err
			}
		}
		return nil
	})
}

// A walk holds the opened sum, and the number of answers it contains.
type walk struct {
	method  *Method
	answers int // 0 before the round
	sum     []int64
}

// NewWalk implements [method.Method].
func (m *Method) NewWalk() method.Walk { return &walk{method: m} }

func (w *walk) Step(_, answers int, _ int64, sum, _ []int64) method.Move {
	return w.moveTo(answers, slices.Clone(sum))
}

func (w *walk) moveTo(answers int, sum []int64) method.Move {
	return method.NewMove([]lambda.Wide{}, func() { w.answers, w.sum = answers, sum })
}

func (w *walk) Begin() []method.Move { return []method.Move{w.moveTo(0, nil)} }

func (w *walk) End() []method.Move { return nil }

func (w *walk) Save() []byte {
	if w.answers == 0 {
		return nil
	}
	b := binary.AppendUvarint(nil, uint64(w.answers))
	for _, e := range w.sum {
		b = binary.AppendVarint(b, e)
	}
	return b
}

func (w *walk) Restore(_ []lambda.Wide, saved []byte, _ bool) ([]method.Move, error) {
	if len(saved) == 0 {
		return w.Begin(), nil
	}
	answers, n := binary.Uvarint(saved)
	if n <= 0 || answers == 0 || answers > uint64(w.method.Clients) {
		return nil, errors.New("the saved sum is not a sum of this study")
	}
	sum := make([]int64, w.method.layout.Size())
	for i := range sum {
		saved = saved[n:]
		if sum[i], n = binary.Varint(saved); n <= 0 {
			return nil, errors.New("the saved sum ends early")
		}
	}
	if len(saved) != n {
		return nil, errors.New("the saved sum is followed by other bytes")
	}
	return []method.Move{w.moveTo(int(answers), sum)}, nil
}

func (w *walk) Remarks() *method.Remarks {
	if w.answers == 0 {
		return nil
	}
	of := w.method.Mechanism()
	step := of.Lattice().Step()
	sums := make([]float64, len(w.sum))
	for i, e := range w.sum {
		sums[i] = step * float64(e)
	}
	sd := step * float64(of.ShareSigma()) * math.Sqrt(float64(w.answers))
	r := &method.Remarks{Arrived: true, Tables: w.method.layout.Summary(sums, sd, w.answers, level)}
	if all := w.method.Clients; w.answers < all {
		r.Sentences = []string{fmt.Sprintf("The tables have the records of %d of %d clients: the others did not answer.", w.answers, all)}
	}
	return r
}
