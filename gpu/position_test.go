package gpu

import (
	"math"
	"math/rand"
	"testing"
)

// A record must contribute the same bits alone, among other records, and at any position in a
// batch. Then a sum changes only by the record's own contribution if the record is added or
// removed. If rounding depended on the position, removing one record could change how all other
// records are rounded to the lattice, and the sensitivity would grow with the number of records.
func TestContributionDependsOnNoPlace(t *testing.T) {
	for name := range zoo {
		for _, generic := range []bool{false, true} {
			m := build(t, name)
			rng := rand.New(rand.NewSource(9))
			const rows = 2*block + 37
			e := compile(t, CPU{Generic: generic}, m, randomTable(t, m, rng, rows, 1))
			q := &Query{Draws: [][]float64{randomPoint(m, rng, 1)}, Clip: math.Inf(1)}
			for _, form := range []string{"one draw", "two draws", "joint"} {
				switch form {
				case "two draws":
					q.Draws = append(q.Draws, randomPoint(m, rng, 1))
				case "joint":
					q.Joint = [][]float64{randomPoint(m, rng, 1), randomPoint(m, rng, 1)}
				}
				q.Batch = nil
				whole := collected(t, e, q)
				for range 20 {
					q.Batch = q.Batch[:0]
					for _, row := range rng.Perm(rows)[:1+rng.Intn(rows-1)] {
						q.Batch = append(q.Batch, int32(row))
					}
					for way, all := range collected(t, e, q) {
						for l, value := range all {
							row := q.Batch[l]
							for j, x := range value {
								if math.Float64bits(x) != math.Float64bits(whole[way][row][j]) {
									t.Fatalf("%s (generic: %t, %s): coordinate %d of record %d is %g at place %d of a batch of %d, and %g among all",
										name, generic, form, j, row, x, l, len(q.Batch), whole[way][row][j])
								}
							}
						}
					}
				}
			}
		}
	}
}

// collected returns the contributions that three kinds of sinks receive: a sink of single vectors,
// a [RowSink] and a [VectorSink].
func collected(t fatal, e *cpu, q *Query) [3][][]float64 {
	t.Helper()
	kept := collect{size: q.Size(e.Dim()), clip: q.Clip}
	rows, vectors := &rowCollect{collect: kept}, &vectorCollect{collect: kept}
	if err := e.Each(q, rows); err != nil {
		t.Fatal(err)
	}
	if err := e.Each(q, vectors); err != nil {
		t.Fatal(err)
	}
	return [3][][]float64{eachOf(t, e, q), rows.all, vectors.all}
}
