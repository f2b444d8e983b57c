package scoring_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech"
	"fedpvi/gpu"
	"fedpvi/pvi/scoring"
	"fedpvi/pvi/shard"
)

// The gradient is that of the engine, the information is near its negative derivative, and the mode
// is one. All outcomes here are drawn from the model; for censored ones the information differs.
func TestTotals(t *testing.T) {
	for _, name := range []string{"logit", "interaction", "cumulative", "gamma"} {
		t.Run(name, func(t *testing.T) {
			w := formulaWorld(t, formulaOf(name), 2000, 1, 1)
			normals := func(n int) []float64 {
				z := make([]float64, n)
				dpmech.FillPublicNormal(z, "test", [32]byte{}, 1)
				return z
			}
			totals, err := scoring.NewTotals(w.model.Study, w.model, w.records, normals)
			check(t, err)
			total, err := totals.Open(w.records)
			check(t, err)
			gradient, d := w.gradient(t), w.model.Dim()
			score, information := total.Score(w.truth)
			differences := mat.NewSymDense(d, nil)
			for i := range d {
				var ends [2][]float64
				for k, h := range []float64{1e-5, -1e-5} {
					at := append([]float64(nil), w.truth...)
					at[i] += h
					ends[k] = gradient(at)
				}
				for j := range i + 1 {
					differences.SetSym(i, j, (ends[1][j]-ends[0][j])/2e-5)
				}
			}
			for i, g := range gradient(w.truth) {
				if math.Abs(g-score[i]) > 1e-8*(1+math.Abs(g)) {
					t.Errorf("element %d of the gradient is %g, not %g", i, score[i], g)
				}
				// The information is an expectation over outcomes, but the derivative uses the
				// outcomes of the records.
				if a, b := information.At(i, i), differences.At(i, i); math.Abs(a/b-1) > .15 {
					t.Errorf("information %d is %g, and the derivative %g", i, a, b)
				}
			}
			mean, precision := priorOf(t, totals)
			mode := total.Mode(mean, precision)
			rest := gradient(mode)
			for i := range rest {
				for j := range rest {
					rest[i] -= precision.At(i, j) * (mode[j] - mean[j])
				}
				if sds := rest[i] / math.Sqrt(information.At(i, i)); math.Abs(sds) > .2 {
					t.Errorf("at the mode, element %d of the gradient is %g root informations", i, sds)
				}
			}
		})
	}
}

// gradient returns the gradient of the log likelihood of all records, from the engine.
func (w *world) gradient(t testing.TB) func(theta []float64) []float64 {
	t.Helper()
	table, err := w.model.Load(w.records)
	check(t, err)
	engine, err := gpu.CPU{}.Compile(w.model.Program(), table)
	check(t, err)
	return func(theta []float64) []float64 {
		g := make([]float64, len(theta))
		_, err := engine.Sum(g, &gpu.Query{Draws: [][]float64{theta}, Clip: math.Inf(1)})
		check(t, err)
		return g
	}
}

// priorOf returns the mean and the precision of the prior.
func priorOf(t *testing.T, totals *scoring.Totals) ([]float64, *mat.SymDense) {
	t.Helper()
	mean, cov := totals.Prior()
	var root mat.Cholesky
	precision := mat.NewSymDense(len(mean), nil)
	if !root.Factorize(cov) || root.InverseTo(precision) != nil {
		t.Fatal("the prior is singular")
	}
	return mean, precision
}

// A record whose density is not a number does not move the mode.
func TestModeWithoutADensity(t *testing.T) {
	f := formulaOf("gamma")
	w := formulaWorld(t, f, 200, 1, 1)
	totals, err := scoring.NewTotals(w.model.Study, w.model, w.records, func(n int) []float64 { return make([]float64, n) })
	check(t, err)
	mean, precision := priorOf(t, totals)
	_, rows := f.Drawn(200, 1)
	var modes [2][]float64
	for k := range modes {
		records := new(shard.Records)
		for _, row := range rows {
			records.Append(row)
		}
		if k == 1 {
			bad := slices.Clone(rows[0])
			bad[0] = math.NaN()
			records.Append(bad)
		}
		total, err := totals.Open(shard.Design(w.model.Study, records))
		check(t, err)
		modes[k] = total.Mode(mean, precision)
	}
	for i, x := range modes[0] {
		if math.Abs(x-modes[1][i]) > .01 {
			t.Errorf("coordinate %d of the mode is %g, and %g with a record without a density", i, x, modes[1][i])
		}
	}
}
