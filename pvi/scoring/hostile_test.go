package scoring_test

import (
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedpvi/pvi/scoring"
)

// small returns a problem with few regressors.
func (s setting) small(t testing.TB) *scoring.Problem {
	s.n, s.d = 200, 1
	if s.groups != "" {
		s.d, s.levels = 3, 2
	}
	return s.world(t, 3, 1).Problem
}

// hostileSum returns a sum whose elements have any size that fits.
func hostileSum(r *rand.Rand, n int) []int64 {
	sum := make([]int64, n)
	size := math.Exp2(62 * r.Float64())
	for i := range sum {
		sum[i] = int64(size * []float64{0, 1, -1, 2*r.Float64() - 1, 2*r.Float64() - 1}[r.IntN(5)])
	}
	return sum
}

// hostileQueries returns the queries of a study in which sums are arbitrary and some rounds are
// missed. A sum that makes the posterior overflow is ignored.
func hostileQueries(t testing.TB, p *scoring.Problem, seed uint64) (queries []*scoring.Query) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	state := p.Begin()
	for round := 1; round <= p.Rounds; round++ {
		if q, err := state.Query(round); err == nil {
			queries = append(queries, q)
		}
		if seed == 0 || r.IntN(4) == 0 {
			continue
		}
		if next, err := state.Step(round, 1+r.IntN(p.Clients), hostileSum(r, p.Size(round)), step, 1/step); err == nil {
			state = next
		}
	}
	return queries
}

// checkVector checks that the vector of a record is not longer than the clipping bound if it is
// finite, and that it depends only on the record and the query. For the latter it compares used,
// which has computed other vectors before, with a new contributor.
func checkVector(t testing.TB, q *scoring.Query, used *scoring.Single, x []float64, y float64) {
	t.Helper()
	size := q.Size(q.Round())
	got, again := make([]float64, size), make([]float64, size)
	used.Vector(got, x, y)
	q.Single().Vector(again, x, y)
	if i, ok := sameBits(got, again); !ok {
		t.Fatalf("round %d, record %v, %g: element %d is %g, and %g of a fresh contributor", q.Round(), x, y, i, got[i], again[i])
	}
	if length := floats.Norm(got, 2); length > q.Clip(q.Round())*(1+1e-12) && !math.IsInf(length, 0) {
		t.Fatalf("round %d, record %v, %g: a vector has length %g, the clip is %g", q.Round(), x, y, length, q.Clip(q.Round()))
	}
}

// sameBits compares the bits of two vectors, where all NaNs are equal, and returns the first index
// at which they differ.
func sameBits(a, b []float64) (at int, same bool) {
	for i, x := range a {
		if math.Float64bits(x) != math.Float64bits(b[i]) && !(math.IsNaN(x) && math.IsNaN(b[i])) {
			return i, false
		}
	}
	return 0, true
}

// hostileRecord returns a record with numbers of all sizes, some of which are not finite. In one
// record of four, squares or fourth powers underflow.
func hostileRecord(r *rand.Rand, n int) (x []float64, y float64) {
	size := 1.0
	if r.IntN(4) == 0 {
		size = math.Pow(10, -170+100*r.Float64())
	}
	number := func() float64 {
		switch r.IntN(6) {
		case 0:
			return math.Float64frombits(r.Uint64())
		case 1:
			return []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}[r.IntN(6)]
		default:
			return size * r.NormFloat64() * math.Exp(6*r.NormFloat64())
		}
	}
	x = make([]float64, n)
	for j := range x {
		x[j] = number()
	}
	return x, number()
}

//abuse:case P18 no record moves a sum of scores by more than the clip, whatever sums were opened before
func TestHostileQueriesAndRecords(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for name, s := range both(families, grouped) {
		t.Run(name, func(t *testing.T) {
			p := s.small(t)
			for seed := range seeds {
				r := rand.New(rand.NewPCG(seed, 4))
				for _, q := range hostileQueries(t, p, seed) {
					used := q.Single()
					for range 30 {
						x, y := hostileRecord(r, p.Regressors())
						checkVector(t, q, used, x, y)
					}
				}
			}
		})
	}
}

// A sum that makes numbers overflow is refused. An accepted sum always leads to a next query.
// Otherwise, clients would pay for answers that are not numbers.
//
//abuse:case A20 a sum after which nothing could be asked is refused, and the study continues
func TestRefusedSums(t *testing.T) {
	for _, name := range []string{"linear", "learned", "poisson", "groups, logistic"} {
		p := both(families, grouped)[name].small(t)
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 8))
			state := p.Begin()
			for round := 1; round < p.Rounds; round++ {
				sum := hostileSum(r, p.Size(round))
				if _, err := state.Step(round, p.Clients, sum, math.MaxFloat64/4, 1); err == nil {
					t.Fatalf("%s, seed %d: a sum that overflows in round %d was not refused", name, seed, round)
				}
				next, err := state.Step(round, p.Clients, sum, step, 1/step)
				if err != nil {
					continue
				}
				state = next
				if _, err := state.Query(round + 1); err != nil {
					t.Fatalf("%s, seed %d: round %d has no query: %v", name, seed, round+1, err)
				}
			}
		}
	}
}

// If the computation for a record panics, its vector is zero. The vector of the next record is not
// affected.
//
//abuse:case A13 a record whose score panics counts as zero; nobody can tell
func TestRecordThatPanics(t *testing.T) {
	p := logistic.small(t)
	p.Panicking(1)
	for _, q := range hostileQueries(t, p, 0) {
		used, vector := q.Single(), make([]float64, p.Size(q.Round()))
		vector[0] = 1
		if used.Vector(vector, make([]float64, p.Regressors()), 2); q.Round() < p.Rounds && slices.Max(vector) != 0 {
			t.Errorf("round %d: the vector is %v", q.Round(), vector)
		}
		checkVector(t, q, used, slices.Repeat([]float64{1}, p.Regressors()), 0)
	}
}

func FuzzVector(f *testing.F) {
	all := both(families, grouped)
	names := slices.Sorted(maps.Keys(all))
	var queries []*scoring.Query
	var used []*scoring.Single
	for _, name := range names {
		p := all[name].small(f)
		for seed := range uint64(3) {
			queries = append(queries, hostileQueries(f, p, seed)...)
		}
	}
	for _, q := range queries {
		used = append(used, q.Single())
	}
	f.Add(uint16(0), make([]byte, 40))
	f.Fuzz(func(t *testing.T, at uint16, record []byte) {
		n := int(at) % len(queries)
		q := queries[n]
		numbers := make([]float64, q.Regressors()+1)
		for i := range numbers {
			if rest := record[min(8*i, len(record)):]; len(rest) >= 8 {
				numbers[i] = math.Float64frombits(binary.LittleEndian.Uint64(rest))
			}
		}
		last := len(numbers) - 1
		checkVector(t, q, used[n], numbers[:last], numbers[last])
	})
}
