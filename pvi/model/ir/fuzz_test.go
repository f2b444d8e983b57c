package ir

import (
	"encoding/binary"
	"math"
	"testing"

	"fedpvi/internal/testing/memory"
)

type reader struct{ data []byte }

func (r *reader) byte() int {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return int(b)
}

func (r *reader) int() int {
	b := r.byte()
	odd := []int{-1, math.MaxInt, math.MinInt, 1 << 20, 1 << 32, MaxConstants, 257, 1000}
	if b >= 248 {
		return odd[b-248]
	}
	return b % 24
}

func (r *reader) float() float64 {
	var b [8]byte
	switch r.byte() % 4 {
	case 0:
		return float64(r.int())
	case 1:
		return []float64{math.Inf(1), math.Inf(-1), math.NaN(), -1, .5, 1e300}[r.byte()%6]
	}
	r.data = r.data[copy(b[:], r.data):]
	return math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
}

func (r *reader) ints() []int {
	var out []int
	for range r.byte() % 5 {
		out = append(out, r.int())
	}
	return out
}

func (r *reader) text() string { return string(rune('a' + r.byte())) }

func (r *reader) texts() []string {
	var out []string
	for range r.byte() % 4 {
		out = append(out, r.text())
	}
	return out
}

func (r *reader) program() Program {
	p := Program{Name: r.text()}
	for range r.byte() % 5 {
		p.Columns = append(p.Columns, Column{r.text(), NamesOf(r.texts()...), r.float(), r.float(), r.byte()%2 == 1})
	}
	for range r.byte() % 5 {
		p.Parameters = append(p.Parameters, Parameter{
			r.text(), r.int(), r.int(), Constraint{ConstraintKind(r.byte() % 8), r.float(), r.float()}, NamesOf(r.texts()...),
		})
	}
	for range r.byte() % 32 {
		n := Node{Op: Op(r.byte()), Args: r.ints(), Ref: r.int(), Rows: r.int(), Cols: r.int()}
		for range r.byte() % 5 {
			n.Values = append(n.Values, r.float())
		}
		p.Nodes = append(p.Nodes, n)
	}
	p.Likelihood = r.int()
	for range r.byte() % 5 {
		p.Priors = append(p.Priors, Prior{r.int(), Density(r.byte()), r.ints()})
	}
	p.Prediction = Prediction{PredictionKind(r.byte() % 6), r.int(), r.int()}
	for range r.byte() % 3 {
		p.Generated = append(p.Generated, r.int())
	}
	return p
}

// Verify never panics, and uses memory in proportion to its input. If it accepts a program, the
// program's nodes are within the size limits.
func FuzzVerify(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a small program that is none"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := reader{data}
		var p Program
		size := memory.Allocated(func() { p = r.program() })
		memory.Bound(t, int(size), func() { _, _ = Verify(p) })
		v, err := Verify(p)
		if err != nil {
			return
		}
		for i, n := range v.Program().Nodes {
			if phase := v.Phase(i); (phase == Record || phase == Data) && n.Op != Col && v.Shape(i).Size() > MaxRecordVector {
				t.Errorf("node %d has %d elements", i, v.Shape(i).Size())
			}
		}
	})
}

func FuzzVerifyMutations(f *testing.F) {
	f.Add(uint8(4), uint8(0), int64(10), int64(3))
	f.Fuzz(func(_ *testing.T, node, field uint8, a, b int64) {
		p := good()
		n := &p.Nodes[int(node)%len(p.Nodes)]
		switch field % 8 {
		case 0:
			n.Op = Op(a)
		case 1:
			n.Args = append(n.Args, int(a))
		case 2:
			n.Args = []int{int(a), int(b)}
		case 3:
			n.Ref = int(a)
		case 4:
			n.Rows, n.Cols = int(a), int(b)
		case 5:
			p.Parameters[int(node)%3].Rows, p.Parameters[int(node)%3].Cols = int(a), int(b)
		case 6:
			p.Priors[int(node)%3] = Prior{int(a), Density(b), n.Args}
		case 7:
			p.Likelihood, p.Prediction.Node = int(a), int(b)
		}
		_, _ = Verify(p)
	})
}
