package gpu

import (
	"math"
	"math/rand"
	"testing"
)

// The test makes the computation of the last record panic. This record must contribute nothing, and
// the others must contribute the same bits as without it.
//
//abuse:case A13 a record whose gradient panics contributes zero, and no other record changes
func TestPanicOfOneRecord(t *testing.T) {
	for name := range zoo {
		for _, generic := range []bool{false, true} {
			m := build(t, name)
			rng := rand.New(rand.NewSource(5))
			const rows = 2*block + 9
			table := randomTable(t, m, rng, rows, 1)
			whole := compile(t, CPU{Generic: generic}, m, table)
			cut := *table
			cut.Nodes = nil
			for _, values := range table.Nodes {
				if len(values) >= rows {
					values = values[: len(values)-1 : len(values)-1]
				}
				cut.Nodes = append(cut.Nodes, values)
			}
			e := compile(t, CPU{Generic: generic}, m, &cut)
			q := &Query{Draws: [][]float64{randomPoint(m, rng, 1)}, Clip: math.Inf(1)}
			for range 3 {
				q.Batch = nil
				var others Query
				for _, row := range rng.Perm(rows) {
					q.Batch = append(q.Batch, int32(row))
					if row != rows-1 {
						others.Batch = append(others.Batch, int32(row))
					}
				}
				others.Draws, others.Clip = q.Draws, q.Clip
				want := collected(t, whole, &others)
				for way, all := range collected(t, e, q) {
					if len(all) != len(others.Batch) {
						t.Fatalf("%s (generic: %t): %d of %d records contribute", name, generic, len(all), len(q.Batch))
					}
					for l, value := range all {
						for j, x := range value {
							if math.Float64bits(x) != math.Float64bits(want[way][l][j]) {
								t.Fatalf("%s (generic: %t): coordinate %d of record %d is %g, and %g without the one that panics", name, generic, j, others.Batch[l], x, want[way][l][j])
							}
						}
					}
				}
				got, sum := make([]float64, e.Dim()), make([]float64, e.Dim())
				total, err := e.Sum(got, q)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := whole.Sum(sum, &others); err != nil || total.Refused != 1 || distance(got, sum) > 1e-12 {
					t.Errorf("%s (generic: %t): %v: %d refused, sum %v, want %v", name, generic, err, total.Refused, got, sum)
				}
			}
		}
	}
}
