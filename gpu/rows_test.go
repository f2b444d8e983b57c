package gpu

import (
	"math"
	"math/rand"
	"testing"

	"fedpvi/internal/special"
)

// rowCollect is a collect that also implements RowSink.
type rowCollect struct {
	collect
	rows int
}

func (s *rowCollect) AddRows(slopes []float64, rows []int32, x []float64) error {
	for l, row := range rows {
		v := make([]float64, s.size)
		for j := range v {
			v[j] = slopes[l] * x[int(row)*s.size+j]
		}
		s.all = append(s.all, v)
	}
	s.rows += len(rows)
	return nil
}

// A RowSink gets each contribution as a slope and a row. It must get the same contributions as a
// sink that gets whole vectors. The batches differ in size and order, and the density of some
// records is not finite.
func TestRowsAreContributions(t *testing.T) {
	for name := range zoo {
		m := build(t, name)
		rng := rand.New(rand.NewSource(3))
		const n = 3*block + 5
		table := randomTable(t, m, rng, n, 1)
		e := compile(t, CPU{}, m, table)
		for _, spread := range []float64{1, 1e160} {
			q := &Query{Draws: [][]float64{randomPoint(m, rng, spread)}, Clip: math.Inf(1)}
			for _, size := range []int{0, 1, block, n} {
				q.Batch = make([]int32, 0, size)
				for range size {
					q.Batch = append(q.Batch, int32(rng.Intn(n)))
				}
				formed := &collect{size: m.Dim(), clip: math.Inf(1)}
				taken := &rowCollect{collect: collect{size: m.Dim(), clip: math.Inf(1)}}
				if err := e.Each(q, formed); err != nil && spread == 1 {
					t.Fatal(name, err)
				}
				if err := e.Each(q, taken); err != nil && spread == 1 {
					t.Fatal(name, err)
				}
				if taken.rows == 0 {
					continue
				}
				for l, want := range formed.all {
					for j, x := range taken.all[l] {
						if x != want[j] && (special.Finite(want) && special.Finite(taken.all[l])) {
							t.Fatalf("%s: coordinate %d of record %d is %g as a row, %g formed", name, j, q.Batch[l], x, want[j])
						}
						if zero := want[j] == 0 || want[j] != want[j]; x != x && !zero {
							t.Fatalf("%s: record %d is no number as a row, %v formed", name, q.Batch[l], want)
						}
					}
				}
			}
		}
	}
}

// A regression whose only parameters are coefficients must pass slopes and rows to a RowSink,
// unless the query needs the contributions themselves.
func TestRegressionsPassRows(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	rows := func(name string, engine CPU, change func(q *Query)) bool {
		m := build(t, name)
		e := compile(t, engine, m, randomTable(t, m, rng, 10, 1))
		q := &Query{Draws: [][]float64{randomPoint(m, rng, 1)}, Clip: math.Inf(1)}
		change(q)
		s := &rowCollect{collect: collect{size: q.Size(m.Dim()), clip: math.Inf(1)}}
		if err := e.Each(q, s); err != nil {
			t.Fatal(name, err)
		}
		if len(s.all) != 10 {
			t.Fatalf("%s: %d of 10 records were handed out", name, len(s.all))
		}
		return s.rows > 0
	}
	same := func(*Query) {}
	if !rows("plain", CPU{}, same) {
		t.Error("a plain regression does not go by rows")
	}
	for name, change := range map[string]func(q *Query){
		"a clip":     func(q *Query) { q.Clip = 1e9 },
		"joint":      func(q *Query) { q.Joint = [][]float64{{1, 2}} },
		"inside":     func(q *Query) { q.Inside = []float64{1, 2} },
		"two points": func(q *Query) { q.Draws = append(q.Draws, []float64{1, 2}) },
	} {
		if rows("plain", CPU{}, change) {
			t.Errorf("%s goes by rows", name)
		}
	}
	for _, name := range []string{"linear", "positive", "twice", "mixture", "characteristics"} {
		if rows(name, CPU{}, same) {
			t.Errorf("the model %q goes by rows", name)
		}
	}
	if rows("plain", CPU{Generic: true}, same) {
		t.Error("the tape goes by rows")
	}
}

func TestRowsAllocateNothing(t *testing.T) {
	m := build(t, "plain")
	rng := rand.New(rand.NewSource(5))
	e := compile(t, CPU{}, m, randomTable(t, m, rng, 200, 1))
	q := &Query{Draws: [][]float64{randomPoint(m, rng, 1)}, Clip: math.Inf(1), Batch: []int32{3, 1, 4, 1, 5}}
	s := &countRows{}
	if n := testing.AllocsPerRun(10, func() { _ = e.Each(q, s) }); n > 0 || s.rows == 0 {
		t.Errorf("%g allocations for %d rows", n, s.rows)
	}
}

// countRows is a sink that counts the records that it receives as rows.
type countRows struct {
	nothing
	rows int
}

func (s *countRows) AddRows(_ []float64, rows []int32, _ []float64) error {
	s.rows += len(rows)
	return nil
}
