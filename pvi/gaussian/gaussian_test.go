package gaussian_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"fedpvi/pvi/gaussian"
)

// random returns the mean and covariance of a random proper Gaussian in f. The covariance is
// diagonal for a diagonal family.
func random(t *rapid.T, f gaussian.Family) ([]float64, *mat.SymDense) {
	d := f.Dim()
	mean := make([]float64, d)
	root := mat.NewDense(d, d, nil)
	for i := range d {
		mean[i] = rapid.Float64Range(-3, 3).Draw(t, "mean")
		for j := range d {
			if i == j {
				root.Set(i, i, rapid.Float64Range(.3, 3).Draw(t, "root"))
			} else if f.Name() == "full" {
				root.Set(i, j, rapid.Float64Range(-1, 1).Draw(t, "root"))
			}
		}
	}
	cov := mat.NewSymDense(d, nil)
	cov.SymOuterK(1, root)
	for i := range d {
		cov.SetSym(i, i, cov.At(i, i)+.05)
	}
	return mean, cov
}

func natural(t interface{ Fatal(...any) }, f gaussian.Family, mean []float64, cov mat.Symmetric) []float64 {
	nat := make([]float64, f.Size())
	if err := f.FromMoments(nat, mean, cov); err != nil {
		t.Fatal(err)
	}
	return nat
}

func drawFamily(t *rapid.T) gaussian.Family {
	d := rapid.IntRange(1, 5).Draw(t, "d")
	f, err := gaussian.New(rapid.SampledFrom([]string{"diagonal", "full"}).Draw(t, "family"), d)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*(1+math.Abs(want))
}

// Moments and FullMoments invert FromMoments. Mean and Marginals return exactly the numbers of
// Moments.
func TestMomentsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFamily(t)
		mean, cov := random(t, f)
		nat := natural(t, f, mean, cov)
		gotMean, gotCov, err := f.Moments(nat)
		fullMean, fullCov := gotMean, gotCov
		if err == nil && f.Name() == "full" {
			fullMean, fullCov, err = gaussian.FullMoments(f.Dim(), nat)
		}
		if err != nil {
			t.Fatal(err)
		}
		again := make([]float64, f.Dim())
		m, v, err := f.Marginals(nat)
		if err := errors.Join(err, f.Check(nat), f.Mean(again, nat)); err != nil {
			t.Fatal(err)
		}
		for i := range mean {
			if !near(gotMean[i], mean[i], 1e-8) || !near(fullMean[i], mean[i], 1e-8) || again[i] != gotMean[i] || m[i] != gotMean[i] || v[i] != gotCov.At(i, i) {
				t.Fatalf("coordinate %d: means %g, %g, %g and %g, want %g; variance %g, want %g", i, gotMean[i], fullMean[i], again[i], m[i], mean[i], v[i], gotCov.At(i, i))
			}
			for j := range mean {
				if !near(gotCov.At(i, j), cov.At(i, j), 1e-8) || !near(fullCov.At(i, j), cov.At(i, j), 1e-8) {
					t.Fatalf("covariance %d %d: %g and %g, want %g", i, j, gotCov.At(i, j), fullCov.At(i, j), cov.At(i, j))
				}
			}
		}
	})
}

// textbook returns the density of N(mean, cov) at theta, with a dense inverse and determinant.
func textbook(mean []float64, cov *mat.SymDense, theta []float64) float64 {
	d := len(mean)
	var inverse mat.Dense
	if err := inverse.Inverse(cov); err != nil {
		panic(err)
	}
	apart := mat.NewVecDense(d, nil)
	apart.SubVec(mat.NewVecDense(d, theta), mat.NewVecDense(d, mean))
	return -(float64(d)*math.Log(2*math.Pi) + math.Log(mat.Det(cov)) + mat.Inner(apart, &inverse, apart)) / 2
}

func TestLogDensity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFamily(t)
		mean, cov := random(t, f)
		theta := make([]float64, f.Dim())
		for i := range theta {
			theta[i] = rapid.Float64Range(-5, 5).Draw(t, "theta")
		}
		density, err := f.LogDensity(natural(t, f, mean, cov))
		if err != nil {
			t.Fatal(err)
		}
		got, want := density(theta), textbook(mean, cov, theta)
		if !near(got, want, 1e-7) || density(theta) != got {
			t.Fatalf("log density %g, want %g", got, want)
		}
	})
}

// KL and Entropy agree with the textbook formulas, with dense inverses and determinants.
func TestKLAndEntropy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFamily(t)
		meanP, covP := random(t, f)
		meanQ, covQ := random(t, f)
		p, q := natural(t, f, meanP, covP), natural(t, f, meanQ, covQ)
		d := f.Dim()
		var inverse, product mat.Dense
		if err := inverse.Inverse(covQ); err != nil {
			t.Fatal(err)
		}
		product.Mul(&inverse, covP)
		apart := mat.NewVecDense(d, nil)
		apart.SubVec(mat.NewVecDense(d, meanQ), mat.NewVecDense(d, meanP))
		want := (mat.Trace(&product) - float64(d) + mat.Inner(apart, &inverse, apart) + math.Log(mat.Det(covQ)/mat.Det(covP))) / 2
		got, err := f.KL(p, q)
		if err != nil {
			t.Fatal(err)
		}
		if !near(got, want, 1e-7) {
			t.Fatalf("KL %g, want %g", got, want)
		}
		if self, err := f.KL(p, p); err != nil || self > 1e-12 {
			t.Fatalf("KL(p‖p) = %g, %v", self, err)
		}
		entropy, err := f.Entropy(p)
		if err != nil {
			t.Fatal(err)
		}
		if want := (float64(d)*math.Log(2*math.Pi*math.E) + math.Log(mat.Det(covP))) / 2; !near(entropy, want, 1e-9) {
			t.Fatalf("entropy %g, want %g", entropy, want)
		}
	})
}

func TestKLByQuadrature(t *testing.T) {
	for _, f := range []gaussian.Family{gaussian.Diagonal(1), gaussian.Full(1)} {
		p, q := []float64{1.2, 2}, []float64{-.5, .7} // precision times mean, and precision
		logP, err1 := f.LogDensity(p)
		logQ, err2 := f.LogDensity(q)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		integrand := func(x float64) float64 {
			lp, lq := logP([]float64{x}), logQ([]float64{x})
			return math.Exp(lp) * (lp - lq)
		}
		want := quad.Fixed(integrand, -12, 12, 400, nil, 0)
		if got, err := f.KL(p, q); err != nil || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: KL %g, by quadrature %g, %v", f.Name(), got, want, err)
		}
	}
}

// The moments of 200,000 samples are within five standard errors.
func TestSampler(t *testing.T) {
	cov := mat.NewSymDense(2, []float64{2, .9, .9, .5})
	mean := []float64{1, -2}
	for _, f := range []gaussian.Family{gaussian.Diagonal(2), gaussian.Full(2)} {
		nat := natural(t, f, mean, cov)
		_, wantCov, err := f.Moments(nat)
		if err != nil {
			t.Fatal(err)
		}
		sample, err := f.Sampler(nat)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		const n = 200_000
		var sum [2]float64
		var outer [2][2]float64
		x := make([]float64, 2)
		for range n {
			sample(x, r.NormFloat64)
			for i := range x {
				sum[i] += x[i]
				for j := range x {
					outer[i][j] += (x[i] - mean[i]) * (x[j] - mean[j])
				}
			}
		}
		for i := range 2 {
			if se := math.Sqrt(wantCov.At(i, i) / n); math.Abs(sum[i]/n-mean[i]) > 5*se {
				t.Errorf("%s: mean %d is %g, want %g", f.Name(), i, sum[i]/n, mean[i])
			}
			for j := range 2 {
				se := math.Sqrt((wantCov.At(i, i)*wantCov.At(j, j) + wantCov.At(i, j)*wantCov.At(i, j)) / n)
				if got := outer[i][j] / n; math.Abs(got-wantCov.At(i, j)) > 5*se {
					t.Errorf("%s: covariance %d %d is %g, want %g", f.Name(), i, j, got, wantCov.At(i, j))
				}
			}
		}
	}
}

func TestImproper(t *testing.T) {
	for _, c := range []struct {
		name   string
		family gaussian.Family
		nat    []float64
	}{
		{"negative precision", gaussian.Diagonal(2), []float64{0, 0, 1, -1}},
		{"zero precision", gaussian.Diagonal(1), []float64{0, 0}},
		{"NaN mean", gaussian.Diagonal(1), []float64{math.NaN(), 1}},
		{"infinite precision", gaussian.Diagonal(1), []float64{0, math.Inf(1)}},
		{"no precision", gaussian.Full(2), make([]float64, 5)},
		{"a negative precision of a full family", gaussian.Full(1), []float64{0, -1}},
		{"indefinite", gaussian.Full(2), []float64{0, 0, 1, 2, 1}},
		{"singular", gaussian.Full(2), []float64{0, 0, 1, 1, 1}},
		{"NaN precision", gaussian.Full(1), []float64{0, math.NaN()}},
		{"infinite h", gaussian.Full(1), []float64{math.Inf(-1), 1}},
	} {
		proper := make([]float64, c.family.Size())
		copy(proper[c.family.Dim():], []float64{1, 0, 1}[:])
		if c.family.Name() == "diagonal" {
			for i := c.family.Dim(); i < len(proper); i++ {
				proper[i] = 1
			}
		}
		theta := make([]float64, c.family.Dim())
		_, _, moments := c.family.Moments(c.nat)
		_, _, marginals := c.family.Marginals(c.nat)
		fullMoments := moments
		if c.family.Name() == "full" {
			_, _, fullMoments = gaussian.FullMoments(c.family.Dim(), c.nat)
		}
		_, kl1 := c.family.KL(c.nat, proper)
		_, kl2 := c.family.KL(proper, c.nat)
		_, density := c.family.LogDensity(c.nat)
		_, sampler := c.family.Sampler(c.nat)
		_, entropy := c.family.Entropy(c.nat)
		for what, err := range map[string]error{
			"Check": c.family.Check(c.nat), "Mean": c.family.Mean(theta, c.nat), "Moments": moments, "Marginals": marginals, "FullMoments": fullMoments,
			"KL(nat, ·)": kl1, "KL(·, nat)": kl2, "LogDensity": density, "Sampler": sampler, "Entropy": entropy,
		} {
			if !errors.Is(err, gaussian.ErrImproper) {
				t.Errorf("%s: %s gives %v", c.name, what, err)
			}
		}
	}
	if err := gaussian.Full(2).FromMoments(make([]float64, 5), make([]float64, 2), mat.NewSymDense(2, []float64{1, 2, 2, 1})); !errors.Is(err, gaussian.ErrImproper) {
		t.Errorf("an indefinite covariance gives %v", err)
	}
}

func TestNew(t *testing.T) {
	for _, name := range []string{"", "banded"} {
		if _, err := gaussian.New(name, 2); err == nil {
			t.Errorf("family %q gives no error", name)
		}
	}
	if _, err := gaussian.New("full", 0); err == nil {
		t.Error("dimension 0 gives no error")
	}
}

// expectedLog returns E_q[sᵀθ − θᵀSθ/2] for a q with diagonal covariance.
func expectedLog(d int, likelihood, mean, variance []float64) float64 {
	var sum float64
	for i := range d {
		sum += likelihood[i] * mean[i]
		for j := range i + 1 {
			s := likelihood[gaussian.Packed(d, i, j)]
			if i == j {
				sum -= s * (mean[i]*mean[i] + variance[i]) / 2
			} else {
				sum -= s * mean[i] * mean[j]
			}
		}
	}
	return sum
}

// ProjectLikelihood returns the gradient of the expected log likelihood E with respect to the mean
// parameters (m, m² + v), where m and v are the means and variances of q. By finite differences, it
// is dE/dm − 2m·dE/dv for the precision times mean, and −2·dE/dv for the precision.
func TestProjectLikelihood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 4).Draw(t, "d")
		likelihood := make([]float64, gaussian.Full(d).Size())
		for i := range likelihood {
			likelihood[i] = rapid.Float64Range(-2, 2).Draw(t, "likelihood")
		}
		mean, variance := make([]float64, d), make([]float64, d)
		for i := range mean {
			mean[i], variance[i] = rapid.Float64Range(-2, 2).Draw(t, "mean"), rapid.Float64Range(.1, 2).Draw(t, "variance")
		}
		got := make([]float64, 2*d)
		gaussian.Diagonal(d).ProjectLikelihood(got, likelihood, mean)
		const step = 1e-4
		slope := func(x []float64, i int) float64 {
			was := x[i]
			x[i] = was + step
			up := expectedLog(d, likelihood, mean, variance)
			x[i] = was - step
			down := expectedLog(d, likelihood, mean, variance)
			x[i] = was
			return (up - down) / (2 * step)
		}
		for i := range d {
			dm, dv := slope(mean, i), slope(variance, i)
			if want := dm - 2*mean[i]*dv; !near(got[i], want, 1e-7) {
				t.Fatalf("precision times mean %d: %g, by differences %g", i, got[i], want)
			}
			if want := -2 * dv; !near(got[d+i], want, 1e-7) {
				t.Fatalf("precision %d: %g, by differences %g", i, got[d+i], want)
			}
		}
		full := make([]float64, len(likelihood))
		gaussian.Full(d).ProjectLikelihood(full, likelihood, mean)
		for i := range full {
			if full[i] != likelihood[i] {
				t.Fatalf("a full family changed the likelihood: %v to %v", likelihood, full)
			}
		}
	})
}

func rotation(t *rapid.T, d int) *mat.Dense {
	q := mat.NewDense(d, d, nil)
	for i := range d {
		q.Set(i, i, 1)
	}
	for i := range d {
		for j := range i {
			sin, cos := math.Sincos(rapid.Float64Range(0, 2*math.Pi).Draw(t, "angle"))
			for k := range d {
				a, b := q.At(k, i), q.At(k, j)
				q.Set(k, i, cos*a-sin*b)
				q.Set(k, j, sin*a+cos*b)
			}
		}
	}
	return q
}

// compose returns a factor in the layout of Full, from the eigenvectors q and eigenvalues of its
// precision. along[k] is its precision times mean along eigenvector k.
func compose(q *mat.Dense, values, along []float64) []float64 {
	d := len(values)
	factor := make([]float64, gaussian.Full(d).Size())
	for i := range d {
		for k := range d {
			factor[i] += q.At(i, k) * along[k]
			for j := range i + 1 {
				factor[gaussian.Packed(d, i, j)] += q.At(i, k) * values[k] * q.At(j, k)
			}
		}
	}
	return factor
}

func TestRepairLikelihood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 4).Draw(t, "d")
		q := rotation(t, d)
		values, along := make([]float64, d), make([]float64, d)
		wantValues, wantAlong := make([]float64, d), make([]float64, d)
		for i := range d {
			values[i] = rapid.Float64Range(.1, 3).Draw(t, "eigenvalue")
			along[i] = rapid.Float64Range(-3, 3).Draw(t, "along")
			if rapid.Bool().Draw(t, "negative") {
				values[i] = -values[i]
			} else {
				wantValues[i], wantAlong[i] = values[i], along[i]
			}
		}
		factor, want := compose(q, values, along), compose(q, wantValues, wantAlong)
		if err := gaussian.RepairLikelihood(d, factor); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !near(factor[i], want[i], 1e-9) {
				t.Fatalf("eigenvalues %v, along them %v: element %d is %g, want %g", values, along, i, factor[i], want[i])
			}
		}
	})
	zero := []float64{5, 0}
	if err := gaussian.RepairLikelihood(1, zero); err != nil || zero[0] != 0 {
		t.Errorf("a factor without precision is repaired to %v (error %v), want zeros", zero, err)
	}
}
