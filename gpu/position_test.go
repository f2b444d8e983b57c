package gpu

import (
	"math"
	"math/rand"
	"testing"
)

// A record contributes the same bits alone, among others, and wherever it stands in a
// batch: what a record more or less does to a noisy sum is what that record adds. If
// its place rounded the others differently, their truncation to the lattice would add to
// the sensitivity, without a bound but their number.
func TestContributionDependsOnNoPlace(t *testing.T) {
	for name := range zoo {
		for _, generic := range []bool{false, true} {
			m := build(t, name)
			rng := rand.New(rand.NewSource(9))
			const rows = 2*block + 37
			e := compile(t, CPU{Generic: generic}, m, randomTable(t, m, rng, rows, 1))
			q := &Query{Draws: [][]float64{randomPoint(m, rng, 1), randomPoint(m, rng, 1)}, Clip: math.Inf(1)}
			for _, joint := range []bool{false, true} {
				if joint {
					q.Joint = [][]float64{randomPoint(m, rng, 1), randomPoint(m, rng, 1)}
				}
				q.Batch = nil
				whole := collected(t, e, q)
				for range 20 {
					q.Batch = q.Batch[:0]
					for _, row := range rng.Perm(rows)[:1+rng.Intn(rows-1)] {
						q.Batch = append(q.Batch, int32(row))
					}
					for l, value := range collected(t, e, q) {
						row := q.Batch[l]
						for j, x := range value {
							if math.Float64bits(x) != math.Float64bits(whole[row][j]) {
								t.Fatalf("%s (generic: %t, joint: %t): coordinate %d of record %d is %g at place %d of a batch of %d, and %g among all",
									name, generic, joint, j, row, x, l, len(q.Batch), whole[row][j])
							}
						}
					}
				}
			}
		}
	}
}

func collected(t fatal, e *cpu, q *Query) [][]float64 {
	t.Helper()
	kept := &collect{size: q.Size(e.Dim()), clip: q.Clip}
	if err := e.Each(q, kept); err != nil {
		t.Fatal(err)
	}
	return kept.all
}
