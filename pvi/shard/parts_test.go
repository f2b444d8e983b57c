package shard_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/shard"
)

const partsSource = `
study = { version = 2, name = "parts" }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
describe = { columns = ["a", "b"] }
[[column]]
name = "a"
type = "numeric"
bounds = [0, 100000]
[[column]]
name = "b"
type = "numeric"
bounds = [0, 100000]
missing = "impute"
impute = 7
`

// Records are stored in parts (see perPart). In the test's table, row i has the value i in the
// first column. In every 5,000th row except the first, the second value is missing.
func TestTablesOfManyParts(t *testing.T) {
	st := parsed(t, partsSource)
	const n = 20000
	var text strings.Builder
	text.WriteString("a,b\n")
	for i := range n {
		second := fmt.Sprint(2 * i)
		if i > 0 && i%5000 == 0 {
			second = ""
		}
		fmt.Fprintf(&text, "%d,%s\n", i, second)
	}
	all, _ := read(t, st, text.String())
	forward, backward := make([]int, n), make([]int, n)
	for i := range n {
		forward[i], backward[n-1-i] = i, i
	}
	joined := new(shard.Records)
	joined.AppendAll(all.Select(forward[:4567]))
	joined.AppendAll(all.Select(forward[4567:]))
	for name, got := range map[string]*shard.Records{"read": all, "joined": joined, "selected": all.Select(backward).Select(backward)} {
		if got.Len() != n {
			t.Fatalf("%s: %d records, want %d", name, got.Len(), n)
		}
		design := shard.Design(st, got)
		for i := range n {
			want := []float64{float64(i), float64(2 * i)}
			described := design.Described(i)
			if i > 0 && i%5000 == 0 {
				want[1] = 7
				if !math.IsNaN(described[1]) {
					t.Fatalf("%s: record %d: the missing value is %g in tables", name, i, described[1])
				}
				described[1] = 7
			}
			if row := got.Row(i); row[0] != want[0] || row[1] != want[1] || described[0] != want[0] || described[1] != want[1] {
				t.Fatalf("%s: record %d is %v and %v, want %v", name, i, row, described, want)
			}
		}
	}
}

// Records take little more memory than their values, even while a table is growing.
func TestRecordsTakeTheirSize(t *testing.T) {
	const n, columns = 100000, 10
	row := make([]float64, columns)
	memory.Within(t, 8*n*columns*5/4, func() {
		records := new(shard.Records)
		for range n {
			records.Append(row)
		}
	})
}
