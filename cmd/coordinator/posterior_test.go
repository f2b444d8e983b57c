package main

import (
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"

	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// If the posterior is narrow, draws must be close to its means, on both scales. The CSV file must
// have the same numbers.
func TestDrawsAndCSV(t *testing.T) {
	st, err := study.Parse("t.toml", []byte(`
study = { version = 1, name = "s" }
inference.rounds = 1
privacy.unit = "none"
model = { family = "linear", outcome = "y", terms = ["u"], noise_sd = "learned" }
column = [
  { name = "u", type = "numeric", bounds = [0, 100], unit = "years" },
  { name = "y", type = "numeric", bounds = [100, 200], unit = "mmHg" },
]`))
	check(t, err)
	sd := []float64{1e-9, 1e-9, 1e-9}
	p, err := session.Describe(st, &session.Result{Mean: []float64{.5, .2, math.Log(.1)}, SD: sd, NoiseAware: &session.NoiseAware{
		Mean: []float64{.4, .1, math.Log(.2)}, SD: sd, Covariance: [][]float64{{1e-18, 0, 0}, {0, 1e-18, 0}, {0, 0, 1e-18}},
	}})
	check(t, err)
	read := func(text string) [][]string {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		check(t, err)
		return rows
	}
	near := func(what, got string, want float64) {
		if x, err := strconv.ParseFloat(got, 64); err != nil || math.Abs(x-want) > 1e-6 {
			t.Errorf("%s is %s, want %g", what, got, want)
		}
	}
	natural := []float64{165, .1, 10} // the intercept is 150 + 50·(.4 − .1)
	for units, want := range map[bool][]float64{false: {.4, .1, .2}, true: natural} {
		var b strings.Builder
		check(t, drawsCSV(&b, p, 5, units))
		rows := read(b.String())
		if len(rows) != 6 {
			t.Fatalf("%d rows", len(rows))
		}
		for i, cell := range rows[5] {
			near(rows[0][i], cell, want[i])
		}
	}
	var b strings.Builder
	check(t, posteriorCSV(&b, p))
	for i, row := range read(b.String())[1:] {
		for k, name := range read(b.String())[0] {
			switch name {
			case "natural_mean":
				near(name, row[k], natural[i])
			case "mean":
				near(name, row[k], p.Result.Mean[i])
			case "aware_q97.5", "aware_q5":
				near(name, row[k], []float64{.4, .1, .2}[i])
			case "unit":
				if want := []string{"y [mmHg]", "y [mmHg] per u [years]", "y [mmHg]"}[i]; row[k] != want {
					t.Errorf("unit %s, want %s", row[k], want)
				}
			}
		}
	}
}
