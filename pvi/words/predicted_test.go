package words_test

import (
	"io"
	"strings"
	"testing"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/words"
)

// The summary says how many log densities are uncertain.
func TestUncertainDensities(t *testing.T) {
	errors := []float64{0, .05, .3, .9}
	records := &shard.New{Records: new(shard.Records)}
	for i := range errors {
		records.Append([]float64{0})
		records.Rows = append(records.Rows, i+2)
	}
	p := &fit.Predicted{Quantities: []string{"log_lik"}, Each: func(visit func(int, []fit.Quantity, fit.LogDensity) error) error {
		for i, e := range errors {
			if err := visit(i, []fit.Quantity{{Name: "log_lik", Spread: &fit.Spread{}}}, fit.LogDensity{Value: -1, Error: e}); err != nil {
				return err
			}
		}
		return nil
	}}
	all, err := words.PredictedCSV(io.Discard, records, p)
	if err != nil || all.Sum != -4 || all.Uncertain != 2 {
		t.Fatal(all, err)
	}
	if said := words.NewPredictions(records, shard.Report{}, p, all).String(); !strings.Contains(strings.ReplaceAll(said, "\n", " "), "densities of 2 records are uncertain") {
		t.Error(said)
	}
}
