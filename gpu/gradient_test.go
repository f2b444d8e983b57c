package gpu

import (
	"errors"
	"math"
	"math/rand"
	"testing"

	"pgregory.net/rapid"
)

// The test compares the gradients of every model and of its prior with central differences of
// the log density.
func TestGradientAgainstDifferences(t *testing.T) {
	for name := range zoo {
		t.Run(name, func(t *testing.T) {
			m := build(t, name)
			rng := rand.New(rand.NewSource(1))
			e := compile(t, CPU{}, m, randomTable(t, m, rng, 70, 1))
			for range 5 {
				theta := randomPoint(m, rng, .5)
				q := &Query{Draws: [][]float64{theta}, Clip: math.Inf(1)}
				g, prior := make([]float64, m.Dim()), make([]float64, m.Dim())
				if total, err := e.Sum(g, q); err != nil || total.Refused > 0 {
					t.Fatal(err, total)
				}
				m.LogPrior(theta, prior)
				for i := range theta {
					value := func() float64 {
						total, err := e.Sum(nil, q)
						if err != nil {
							t.Fatal(err)
						}
						return total.LogDensity
					}
					if want := difference(theta, i, value); math.Abs(g[i]-want) > 1e-6*(1+math.Abs(want)+math.Abs(value())) {
						t.Errorf("%s: gradient %g, differences give %g", m.Names()[i], g[i], want)
					}
					want := difference(theta, i, func() float64 { return m.LogPrior(theta, nil) })
					if math.Abs(prior[i]-want) > 1e-6*(1+math.Abs(want)) {
						t.Errorf("%s: gradient of the prior %g, differences give %g", m.Names()[i], prior[i], want)
					}
				}
			}
		})
	}
}

// difference returns the central difference of f with respect to element i of theta.
func difference(theta []float64, i int, f func() float64) float64 {
	const h = 1e-5
	old := theta[i]
	theta[i] = old + h
	up := f()
	theta[i] = old - h
	down := f()
	theta[i] = old
	return (up - down) / (2 * h)
}

// The test compares the engine's sums, densities and contributions with those of a simple evaluator
// ([materialised]), which computes the gradient of one record at a time. Points, rows and group
// indices are random. Queries have one draw or several, and do or do not have the vectors Joint and
// Inside.
func TestSumsAgainstMaterialised(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	for name := range zoo {
		t.Run(name, func(t *testing.T) {
			m := build(t, name)
			rapid.Check(t, func(t *rapid.T) {
				rng := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
				rows := rapid.IntRange(1, 150).Draw(t, "rows")
				table := randomTable(t, m, rng, rows, 1)
				q := randomQuery(t, rng, m.Dim(), rows)
				plain := newMaterialised(m, table)
				for _, generic := range []bool{false, true} {
					checkQuery(t, compile(t, CPU{Generic: generic}, m, table), plain, q)
				}
			})
		})
	}
}

// randomQuery returns a query with random points and a random batch. Many queries have a finite
// clip, and some have the vector Joint or the vector Inside.
func randomQuery(t *rapid.T, rng *rand.Rand, d, rows int) *Query {
	q := &Query{Clip: math.Exp(2 * rng.NormFloat64())}
	vector := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	for range rapid.IntRange(1, 3).Draw(t, "draws") {
		q.Draws = append(q.Draws, vector(d))
	}
	if rapid.Bool().Draw(t, "joint") {
		for range q.Draws {
			q.Joint = append(q.Joint, vector(d))
		}
	}
	if rapid.Bool().Draw(t, "inside") {
		q.Inside = vector(q.Size(d))
	}
	if rapid.Bool().Draw(t, "batch") {
		q.Batch = []int32{}
		for range rapid.IntRange(0, 200).Draw(t, "batch size") {
			q.Batch = append(q.Batch, int32(rng.Intn(rows)))
		}
	}
	return q
}

// checkQuery compares the results of e with the plain evaluator's.
func checkQuery(t fatal, e *cpu, plain *materialised, q *Query) {
	t.Helper()
	got, total := sumOf(t, e, q)
	want, wantTotal := plain.sum(q)
	scale := 1 + q.Clip*float64(e.length(q))
	if gap := distance(got, want); gap > 1e-12*scale || math.IsNaN(gap) {
		t.Fatal("clipped sums differ by", gap)
	}
	if total.Refused != wantTotal.Refused || math.Abs(total.LogDensity-wantTotal.LogDensity) > 1e-12*(1+math.Abs(wantTotal.LogDensity)) {
		t.Fatal("totals differ:", total, wantTotal)
	}
	all := eachOf(t, e, q)
	for l, row := range plain.batch(q) {
		if _, g, _ := plain.contribution(q, row); distance(all[l], g) > 1e-12*(1+q.Clip) {
			t.Fatal("the contribution of a record differs by", distance(all[l], g))
		}
	}
}

// collect is a sink that stores all contributions.
type collect struct {
	size int
	clip float64
	all  [][]float64
}

func (s *collect) AddRecord(index []int32, value []float64) error {
	v := make([]float64, s.size)
	if index == nil {
		copy(v, value)
	}
	for k, j := range index {
		if v[j] != 0 {
			return errTwice
		}
		v[j] = value[k]
	}
	norm := 0.
	for _, x := range v {
		norm += x * x
	}
	if !math.IsInf(s.clip, 1) && !(math.Sqrt(norm) <= s.clip*(1+1e-12)) { // if the clip is infinite, the sink itself tests whether numbers are finite
		return errNorm
	}
	s.all = append(s.all, v)
	return nil
}

var (
	errTwice = errors.New("a contribution has the same coordinate twice")
	errNorm  = errors.New("a contribution is longer than the clip")
)
