package scoring_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedpvi/pvi/describe"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const tablesStudy = `
[study]
version = 2
name = "tables"
[[column]]
name = "x"
type = "numeric"
bounds = [0, 10]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
[model]
family = "logistic"
outcome = "y"
positive = "yes"
terms = ["x", "g"]
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
[federation]
nominal_records = 100
[describe]
by = "y"
bins = 5
share = 0.3
[simulation]
clients = 3
synthetic.records_per_client = 100
`

// Removing a record changes every sum by the record's vector, whose norm is at most the clip. The
// tables are released in one round and cost their share of the budget.
func TestTablesOfNeighbours(t *testing.T) {
	st, err := study.Parse("tables.toml", []byte(tablesStudy))
	check(t, err)
	p := newWorld(t, st, 3, 1, 1).Problem
	var squares float64
	for round := 1; round <= p.Rounds; round++ {
		squares += p.Clip(round) * p.Clip(round) / (p.Multiplier(1) * p.Multiplier(1))
	}
	if math.Abs(squares-1) > 1e-12 {
		t.Fatalf("the rounds cost %g of the budget together, want 1", squares)
	}
	r := rand.New(rand.NewPCG(4, 5))
	var rows [][]float64
	for range 12 {
		rows = append(rows, []float64{10 * r.Float64(), float64(r.IntN(3)), float64(r.IntN(2))})
	}
	rows = append(rows, []float64{0, 0, 0}, []float64{10, 2, 1})
	vectors := func(rows [][]float64, round int) [][]float64 {
		records := new(shard.Records)
		for _, row := range rows {
			records.Append(row)
		}
		open, err := p.Open(shard.Design(st, records))
		check(t, err)
		q, err := p.Begin().Query(round)
		check(t, err)
		return vectorsOf(q, open)
	}
	layout := describe.New(st)
	for _, round := range []int{1, 2, p.Rounds} {
		all := vectors(rows, round)
		for j := range rows {
			if n := floats.Norm(all[j], 2); n > p.Clip(round)*(1+1e-9) {
				t.Errorf("round %d, record %d: norm %g, clip %g", round, j+1, n, p.Clip(round))
			}
			rest := vectors(slices.Delete(slices.Clone(rows), j, j+1), round)
			if !slices.EqualFunc(rest, slices.Delete(slices.Clone(all), j, j+1), slices.Equal) {
				t.Fatalf("round %d: without record %d, vectors of other records change", round, j+1)
			}
			if round > 1 {
				continue
			}
			want := make([]float64, layout.Size())
			layout.Vector(want, rows[j])
			floats.Scale(math.Sqrt(.3)*p.Multiplier(1)/layout.Norm(), want)
			if got := all[j][len(all[j])-len(want):]; !floats.EqualApprox(got, want, 1e-12) {
				t.Fatalf("record %d: tables %v, want %v", j+1, got, want)
			}
		}
	}
}
