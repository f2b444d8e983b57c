package ep

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
)

// clusters returns log p(x|θ) of a mixture of k clusters by the definition in [Clusters]. θ has the
// sticks, and then for each variable k means and k log sds.
func clusters(k int, x, theta []float64) float64 {
	left, total := 1.0, 0.0
	for c := range k {
		w := left
		if c < k-1 {
			w = left * special.InvLogit(theta[c]-math.Log(float64(k-1-c)))
			left -= w
		}
		for v, value := range x {
			at := theta[k-1+2*v*k:]
			sd := math.Exp(at[k+c])
			z := (value - at[c]) / sd
			w *= math.Exp(-z*z/2) / (sd * math.Sqrt(2*math.Pi))
		}
		total += w
	}
	return math.Log(total)
}

// independent returns a diagonal cavity with the given means and sds.
func independent(t *testing.T, mean, sd []float64) *solver.Approximation {
	t.Helper()
	natural := make([]float64, 2*len(mean))
	for i, s := range sd {
		natural[len(mean)+i] = 1 / (s * s)
		natural[i] = mean[i] / (s * s)
	}
	q, err := solver.NewApproximation(gaussian.Diagonal(len(mean)), natural)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func slopeOf(at []float64, i int, f func(theta []float64) float64) float64 {
	const h = 1e-5
	up, down := slices.Clone(at), slices.Clone(at)
	up[i] += h
	down[i] -= h
	return (f(up) - f(down)) / (2 * h)
}

// tiltedByBruteForce returns the mean and variance of every coordinate under a diagonal cavity
// times exp(log). It sums over a grid with n points for each coordinate.
func tiltedByBruteForce(q *solver.Approximation, n int, log func(theta []float64) float64) (mean, variance []float64) {
	const reach = 4.5
	d := len(q.Mean)
	theta, z := make([]float64, d), make([]float64, d)
	mean, variance = make([]float64, d), make([]float64, d)
	var total float64
	var walk func(i int, squares float64)
	walk = func(i int, squares float64) {
		if i == d {
			w := math.Exp(log(theta) - squares/2)
			total += w
			for j, u := range z {
				mean[j] += w * u
				variance[j] += w * u * u
			}
			return
		}
		sd := math.Sqrt(q.Variance[i])
		for k := range n {
			z[i] = reach * (2*(float64(k)+0.5)/float64(n) - 1)
			theta[i] = q.Mean[i] + sd*z[i]
			walk(i+1, squares+z[i]*z[i])
		}
	}
	walk(0, 0)
	for j := range mean {
		first := mean[j] / total
		variance[j] = q.Variance[j] * (variance[j]/total - first*first)
		mean[j] = q.Mean[j] + math.Sqrt(q.Variance[j])*first
	}
	return mean, variance
}

// matchedBy returns the mean and variance of every coordinate under a diagonal cavity times the
// site of the first record.
func matchedBy(q *solver.Approximation, tilted Tilted) (mean, variance []float64) {
	d := len(q.Mean)
	natural := make([]float64, 2*d)
	tilted.Expand(natural, siteUnder(q, tilted))
	for i := range d {
		v := 1 / (1/q.Variance[i] + natural[d+i])
		mean, variance = append(mean, q.Mean[i]+v*natural[i]), append(variance, v)
	}
	return mean, variance
}

// The cavity times a site has the moments of the tilted distribution, summed over a grid in all
// five coordinates.
func TestClusterSitesMatchMoments(t *testing.T) {
	for _, x := range []float64{-1.6, 0.2} {
		q := independent(t, []float64{0.4, -0.8, 0.9, -0.3, 0.1}, []float64{0.9, 0.6, 0.4, 0.5, 0.3})
		mean, variance := matchedBy(q, NewClusters(2, 1, []float64{x}, 1.5, 1, 0.7))
		first, second := tiltedByBruteForce(q, 18, func(theta []float64) float64 { return clusters(2, []float64{x}, theta) })
		for i := range mean {
			if math.Abs(mean[i]-first[i]) > 2e-4 || math.Abs(variance[i]/second[i]-1) > 1e-3 {
				t.Errorf("x = %g, coordinate %d: N(%.7g, %.7g), by brute force N(%.7g, %.7g)", x, i, mean[i], variance[i], first[i], second[i])
			}
		}
	}
}

// Under a narrow cavity, the precisions times means in a site form the gradient of the record's log
// likelihood.
func TestClusterSitesAreGradients(t *testing.T) {
	const k, v = 3, 2
	r := rand.New(rand.NewPCG(1, 2))
	d := k - 1 + 2*k*v
	mean, sd := make([]float64, d), make([]float64, d)
	for i := range mean {
		mean[i], sd[i] = 0.7*r.NormFloat64(), 1e-4
	}
	q := independent(t, mean, sd)
	for range 20 {
		x := []float64{r.NormFloat64(), r.NormFloat64()}
		site := siteUnder(q, NewClusters(k, v, x, 1.5, 1, 1))
		for i := range d {
			want := slopeOf(mean, i, func(theta []float64) float64 { return clusters(k, x, theta) })
			if math.Abs(site[i]-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("x = %v: slope %d is %.7g, by differences %.7g", x, i, site[i], want)
			}
		}
	}
}

// SEP finds the weights, means and sds of overlapping clusters: the mean of q is near the mode of
// the posterior, and its precisions are near the curvatures.
func TestClustersAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 3000
	var x []float64
	for range n {
		if r.Float64() < 0.35 {
			x = append(x, -0.6+0.3*r.NormFloat64())
		} else {
			x = append(x, 0.5+0.5*r.NormFloat64())
		}
	}
	const stickSD = 1.5
	prior := independent(t, []float64{0, -0.5, 0.5, -1, -1}, []float64{stickSD, 1, 1, 1, 1})
	tilted := NewClusters(2, 1, x, stickSD, 1, 1)
	factor := make([]float64, 10)
	o := SEPOptions{Power: 1, StepSize: 0.5, Recency: 100, Nominal: n, StartMean: prior.Mean, StartSD: 0.3}
	if err := SEP(factor, prior.Natural, tilted, o, 200); err != nil {
		t.Fatal(err)
	}
	q := posterior(t, prior.Family, prior.Natural, factor)
	logPosterior := func(theta []float64) float64 {
		// The prior of the weight is uniform, so the density of the stick is the Jacobian of the
		// map from stick to weight.
		share := special.InvLogit(theta[0])
		log := math.Log(share) + math.Log(1-share)
		for i, m := range prior.Mean[1:] {
			log -= (theta[1+i] - m) * (theta[1+i] - m) / (2 * prior.Variance[1+i])
		}
		for i := range x {
			log += clusters(2, x[i:i+1], theta)
		}
		return log
	}
	at := logPosterior(q.Mean)
	for i, v := range q.Variance {
		h := math.Sqrt(v) / 10
		up, down := slices.Clone(q.Mean), slices.Clone(q.Mean)
		up[i] += h
		down[i] -= h
		a, b := logPosterior(up), logPosterior(down)
		slope, bend := (a-b)/(2*h), (2*at-a-b)/(h*h)
		if off := slope * math.Sqrt(v); math.Abs(off) > 0.05 {
			t.Errorf("coordinate %d: the mode is %.3f sds away", i, off)
		}
		if math.Abs(v*bend-1) > 0.05 {
			t.Errorf("coordinate %d: variance %.5g, of the posterior around its mode %.5g", i, v, 1/bend)
		}
	}
}
