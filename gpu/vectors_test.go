package gpu

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// vectorCollect is a collect that also implements VectorSink.
type vectorCollect struct {
	collect
	vectors int
}

func (s *vectorCollect) AddVectors(values []float64) error {
	for ; len(values) > 0; values = values[s.size:] {
		if err := s.AddRecord(nil, values[:s.size]); err != nil {
			return err
		}
		s.vectors++
	}
	return nil
}

// A VectorSink gets many contributions in one call. They must be the same as those that another
// sink gets one by one. If records use few coordinates, the engine must not pass many vectors at
// once, unless the query adds a vector before clipping.
func TestVectorsAreContributions(t *testing.T) {
	for name := range zoo {
		m := build(t, name)
		rng := rand.New(rand.NewSource(6))
		const n = 2*block + 5
		e := compile(t, CPU{}, m, randomTable(t, m, rng, n, 1))
		for _, form := range []string{"aligned", "joint", "inside"} {
			q := &Query{Draws: [][]float64{randomPoint(m, rng, 1)}, Clip: math.Inf(1)}
			if form != "aligned" {
				q.Joint = [][]float64{randomPoint(m, rng, 1)}
			}
			if form == "inside" {
				q.Inside = make([]float64, q.Size(m.Dim()))
				q.Inside[0] = 0.5
			}
			apart := &collect{size: q.Size(m.Dim()), clip: q.Clip}
			together := &vectorCollect{collect: collect{size: q.Size(m.Dim()), clip: q.Clip}}
			if err := e.Each(q, apart); err != nil {
				t.Fatal(name, err)
			}
			if err := e.Each(q, together); err != nil {
				t.Fatal(name, err)
			}
			want := n
			if e.p.sparse && form != "inside" {
				want = 0
			}
			if together.vectors != want {
				t.Errorf("%s, %s: %d vectors together, want %d", name, form, together.vectors, want)
			}
			if !slices.EqualFunc(together.all, apart.all, slices.Equal) {
				t.Errorf("%s, %s: vectors together differ from those one by one", name, form)
			}
		}
	}
}

// scaleRows must multiply each row by its factor, and must write nothing outside the rows'
// elements.
func TestScaledRows(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	for cols := 1; cols < 20; cols++ {
		for count := range 6 {
			const table = 9
			x, c, rows := make([]float64, table*cols), make([]float64, count), make([]int32, count)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			for l := range c {
				c[l], rows[l] = rng.NormFloat64(), int32(rng.Intn(table))
			}
			if count > 2 {
				c[1], x[0] = math.Inf(1), math.NaN()
			}
			stride := cols + rng.Intn(5)
			got := make([]float64, count*stride+1)
			for i := range got {
				got[i] = -7
			}
			want := slices.Clone(got)
			scaleRows(got, stride, c, x, rows, cols)
			for l, row := range rows {
				for j := range cols {
					want[l*stride+j] = c[l] * x[int(row)*cols+j]
				}
			}
			for i := range got {
				if math.Float64bits(got[i]) != math.Float64bits(want[i]) && !(got[i] != got[i] && want[i] != want[i]) {
					t.Fatalf("%d rows of %d, stride %d: element %d is %v, want %v", count, cols, stride, i, got[i], want[i])
				}
			}
		}
	}
}
