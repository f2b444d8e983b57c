package gpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// An effect is the distribution of a count y that depends on η = mu + sigma·u, where the latent u
// is standard normal.
type effect struct {
	write func(b *model.Builder, y, trials, eta model.Expr) model.Expr
	log   func(y, trials, eta float64) float64
	draw  func(r *rand.Rand, trials int, eta float64) float64
}

var effects = map[string]effect{
	"poisson": {
		write: func(b *model.Builder, y, _, eta model.Expr) model.Expr { return b.LogDensity(ir.PoissonLog, y, eta) },
		log: func(y, _, eta float64) float64 {
			l, _ := math.Lgamma(y + 1)
			return y*eta - math.Exp(eta) - l
		},
		draw: func(r *rand.Rand, _ int, eta float64) float64 {
			mean := math.Exp(min(eta, 7))
			return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
		},
	},
	"binomial": {
		write: func(b *model.Builder, y, trials, eta model.Expr) model.Expr {
			yes, no := b.Apply(ir.LogInvLogit, eta), b.Apply(ir.LogInvLogit, b.Apply(ir.Neg, eta))
			return b.Add(b.Mul(y, yes), b.Mul(b.Apply(ir.Sub, trials, y), no))
		},
		log: func(y, n, eta float64) float64 {
			return -y*math.Log1p(math.Exp(-eta)) - (n-y)*math.Log1p(math.Exp(eta))
		},
		draw: func(r *rand.Rand, trials int, eta float64) (y float64) {
			for range trials {
				if r.Float64() < 1/(1+math.Exp(-eta)) {
					y++
				}
			}
			return y
		},
	},
}

// model returns a model that integrates out u with a quadrature rule. points is the number of the
// rule's points.
func (e effect) model(t *testing.T, points int) *model.Model {
	t.Helper()
	b := model.NewBuilder("effect")
	y, trials := b.Integer("y", 0, 1e6), b.Integer("trials", 0, 1e6)
	prior := b.Normal(model.Normal{SD: 1})
	mu, sigma := b.Scalar("mu", model.Free, prior), b.Scalar("sigma", model.Positive, prior)
	u := b.Latent("u")
	normal := b.Add(b.Mul(b.Apply(ir.Square, u), b.Number(-.5)), b.Number(-.5*math.Log(2*math.Pi)))
	m, err := b.Build(b.Integrate([]model.Expr{u}, model.Quadrature{Points: points, LeastPrecision: 1}, e.write(b, y, trials, b.Add(mu, b.Mul(sigma, u))), normal))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// exact computes the log density of a record with the trapezoidal rule.
func (e effect) exact(y, trials, mu, sigma float64) float64 {
	const n, to = 6001, 10.0
	largest, logs := math.Inf(-1), make([]float64, n)
	for i := range logs {
		u := -to + 2*to*float64(i)/(n-1)
		logs[i] = e.log(y, trials, mu+sigma*u) - u*u/2 - .5*math.Log(2*math.Pi)
		largest = max(largest, logs[i])
	}
	var sum float64
	for _, l := range logs {
		sum += math.Exp(l - largest)
	}
	return largest + math.Log(sum*2*to/(n-1))
}

const effectRecords = 6

// records draws parameters mu and sigma and some records with these parameters. It returns the
// records as columns for the model. The function latent draws the latent u of one record.
func (e effect) records(r *rand.Rand, latent func(r *rand.Rand) float64) (mu, sigma float64, columns [][]float64) {
	mu, sigma = 1.5*r.NormFloat64(), .05+2.95*r.Float64()
	columns = make([][]float64, 2)
	for range effectRecords {
		trials := 1 + r.IntN(30)
		columns[0] = append(columns[0], e.draw(r, trials, mu+sigma*latent(r)))
		columns[1] = append(columns[1], float64(trials))
	}
	return mu, sigma, columns
}

// errors measures how far the log densities from quadrature rules with 15 and 31 points are from
// the exact ones, over n random sets of records. few has the errors with 15 points and many those
// with 31, sorted in ascending order.
func (e effect) errors(t *testing.T, n int, latent func(r *rand.Rand) float64) (few, many []float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(30, 6))
	models, all := []*model.Model{e.model(t, 15), e.model(t, 31)}, make([][]float64, 2)
	for range n {
		mu, sigma, columns := e.records(r, latent)
		for k, m := range models {
			logs := make([]float64, effectRecords)
			m.LogDensities(logs, []float64{mu, math.Log(sigma)}, load(t, m, effectRecords, columns))
			for i, log := range logs {
				all[k] = append(all[k], math.Abs(log-e.exact(columns[0][i], columns[1][i], mu, sigma)))
			}
		}
	}
	slices.Sort(all[0])
	slices.Sort(all[1])
	return all[0], all[1]
}

// The test checks how accurate the log density of a record is with 15 quadrature points: the
// largest error must be below 2e-3, and the median error below 1e-6. With 31 points, the largest
// error must be at least ten times smaller. The same must hold if latents are up to 6 standard
// deviations from their mean.
func TestIntegralAgainstGrid(t *testing.T) {
	for name, e := range effects {
		for where, latent := range map[string]func(r *rand.Rand) float64{
			"near": (*rand.Rand).NormFloat64,
			"far":  func(r *rand.Rand) float64 { return 12*r.Float64() - 6 },
		} {
			t.Run(name+", "+where, func(t *testing.T) {
				few, many := e.errors(t, 40, latent)
				worst, worstOfMany, median := few[len(few)-1], many[len(many)-1], few[len(few)/2]
				t.Logf("largest error %.2g, median %.2g; with 31 points %.2g", worst, median, worstOfMany)
				if !(worst < 2e-3) || !(median < 1e-6) || !(worstOfMany < worst/10) {
					t.Errorf("largest error %g, median %g; with 31 points %g", worst, median, worstOfMany)
				}
			})
		}
	}
}

// The test compares the gradient of a record with differences of the exact integral.
func TestGradientOfIntegral(t *testing.T) {
	for name, e := range effects {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(30, 7))
			m := e.model(t, 15)
			var errors []float64
			for range 15 {
				mu, sigma, columns := e.records(r, (*rand.Rand).NormFloat64)
				got := gradients(t, m, columns, []float64{mu, math.Log(sigma)})
				for i, g := range got {
					y, trials := columns[0][i], columns[1][i]
					const h = 1e-4
					byMu := (e.exact(y, trials, mu+h, sigma) - e.exact(y, trials, mu-h, sigma)) / (2 * h)
					bySigma := (e.exact(y, trials, mu, sigma*math.Exp(h)) - e.exact(y, trials, mu, sigma*math.Exp(-h))) / (2 * h)
					errors = append(errors, math.Abs(g[0]-byMu)/(1+math.Abs(byMu)), math.Abs(g[1]-bySigma)/(1+math.Abs(bySigma)))
				}
			}
			slices.Sort(errors)
			worst, median := slices.Max(errors), errors[len(errors)/2]
			t.Logf("largest error %.2g, median %.2g", worst, median)
			if !(worst < 2e-2) || !(median < 1e-5) {
				t.Errorf("largest error %g, median %g", worst, median)
			}
		})
	}
}

// The log density of a record and its gradient must have the same bits at every position in a
// table, whatever the other records are.
func TestIntegralOfOneRecord(t *testing.T) {
	m := effects["poisson"].model(t, 15)
	r := rand.New(rand.NewPCG(30, 8))
	theta := []float64{.4, -.3}
	const y, trials = 7, 9
	var want []float64
	for range 8 {
		n := 1 + r.IntN(150)
		at := r.IntN(n)
		columns := [][]float64{make([]float64, n), make([]float64, n)}
		for i := range n {
			columns[0][i], columns[1][i] = float64(r.IntN(1e6)), float64(r.IntN(30))
		}
		columns[0][at], columns[1][at] = y, trials
		logs := make([]float64, n)
		m.LogDensities(logs, theta, load(t, m, n, columns))
		got := append([]float64{logs[at]}, gradients(t, m, columns, theta)[at]...)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("record %d of %d: %v, and %v among other records", at, n, got, want)
		}
	}
}

// The test compares the Hessian of the engine with differences of its gradient.
func TestHessianOfIntegral(t *testing.T) {
	m := effects["poisson"].model(t, 15)
	columns := [][]float64{{0, 3, 12, 1}, {1, 1, 1, 1}}
	theta, got := []float64{.4, -.3}, make([]float64, 3)
	if err := compile(t, CPU{}, m, load(t, m, 4, columns)).Hessian(got, theta); err != nil {
		t.Fatal(err)
	}
	gradient := func(theta []float64) []float64 {
		sum := make([]float64, 2)
		for _, g := range gradients(t, m, columns, theta) {
			sum[0], sum[1] = sum[0]+g[0], sum[1]+g[1]
		}
		return sum
	}
	const h = 1e-5
	for k, at := range [][2]int{{0, 0}, {1, 0}, {1, 1}} {
		up, down := slices.Clone(theta), slices.Clone(theta)
		up[at[0]], down[at[0]] = up[at[0]]+h, down[at[0]]-h
		want := (gradient(up)[at[1]] - gradient(down)[at[1]]) / (2 * h)
		if math.Abs(got[k]-want) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("element %d: %g, want %g", k, got[k], want)
		}
	}
}

// gradients returns the gradient of each record.
func gradients(t *testing.T, m *model.Model, columns [][]float64, theta []float64) [][]float64 {
	t.Helper()
	e := compile(t, CPU{}, m, load(t, m, len(columns[0]), columns))
	return eachOf(t, e, &Query{Draws: [][]float64{theta}, Clip: math.Inf(1)})
}

// No derivative may pass through a Detach, even if the Detach is the log density itself.
func TestDetach(t *testing.T) {
	for _, whole := range []bool{true, false} {
		b := model.NewBuilder("detach")
		y := b.Real("y", -10, 10)
		mu := b.Scalar("mu", model.Free, b.Normal(model.Normal{SD: 1}))
		log := b.Detach(b.Mul(y, mu))
		if !whole {
			log = b.Add(b.Mul(log, log), b.Mul(y, mu))
		}
		m, err := b.Build(log)
		if err != nil {
			t.Fatal(err)
		}
		value := make([]float64, 1)
		m.LogDensities(value, []float64{2}, load(t, m, 1, [][]float64{{3}}))
		got := gradients(t, m, [][]float64{{3}}, []float64{2})[0][0]
		if want := map[bool][2]float64{true: {6, 0}, false: {42, 3}}[whole]; value[0] != want[0] || got != want[1] {
			t.Errorf("value %g and derivative %g, want %v", value[0], got, want)
		}
	}
}
