package ep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// The mixture of Vinaroz and Park (2022), section 5.1: four clusters of equal weight and sd 0.5 in
// four dimensions, with prior N(0, 10) for the means.
const (
	paperClusters, paperVariables, paperRecords = 4, 4, 1000
	paperSD, paperPrior                         = 0.5, 10.0
)

func paperData(seed uint64) (x, truth []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	truth = make([]float64, paperClusters*paperVariables)
	for i := range truth {
		truth[i] = math.Sqrt(paperPrior) * r.NormFloat64()
	}
	for range paperRecords {
		k := r.IntN(paperClusters)
		for v := range paperVariables {
			x = append(x, truth[v*paperClusters+k]+paperSD*r.NormFloat64())
		}
	}
	return x, truth
}

// gibbs returns the posterior mean and variance of every cluster's mean, from a Gibbs chain over
// means and assignments that begins at the truth. It averages the moments of the means given the
// assignments, because these vary less.
func gibbs(x, truth []float64, sweeps int, seed uint64) (mean, variance []float64) {
	const precision = 1 / (paperSD * paperSD)
	r := rand.New(rand.NewPCG(seed, 2))
	m := slices.Clone(truth)
	mean, variance = make([]float64, len(m)), make([]float64, len(m))
	chance := make([]float64, paperClusters)
	for sweep := -20; sweep < sweeps; sweep++ {
		count, sum := make([]float64, paperClusters), make([]float64, len(m))
		for i := 0; i < len(x); i += paperVariables {
			var total float64
			for k := range chance {
				var squares float64
				for v := range paperVariables {
					gap := x[i+v] - m[v*paperClusters+k]
					squares += gap * gap
				}
				chance[k] = math.Exp(-squares * precision / 2)
				total += chance[k]
			}
			k, u := 0, total*r.Float64()
			for ; k < paperClusters-1 && u > chance[k]; k++ {
				u -= chance[k]
			}
			count[k]++
			for v := range paperVariables {
				sum[v*paperClusters+k] += x[i+v]
			}
		}
		for i := range m {
			b := 1/paperPrior + count[i%paperClusters]*precision
			m[i] = sum[i] * precision / b
			if sweep >= 0 {
				mean[i] += m[i] / float64(sweeps)
				variance[i] += 1 / b / float64(sweeps)
			}
			m[i] += r.NormFloat64() / math.Sqrt(b)
		}
	}
	return mean, variance
}

// matched returns the distance between the means of q and the posterior, averaged over clusters,
// and the KL divergence to a Gaussian with the given moments, for the best permutation of the
// clusters.
func matched(q *solver.Approximation, mean, variance []float64) (distance, divergence float64) {
	distance = math.Inf(1)
	var try func(names []int, used int)
	try = func(names []int, used int) {
		if len(names) < paperClusters {
			for k := range paperClusters {
				if used>>k&1 == 0 {
					try(append(names[:len(names):len(names)], k), used|1<<k)
				}
			}
			return
		}
		var apart, kl float64
		for k, name := range names {
			var squares float64
			for v := range paperVariables {
				i, j := v*paperClusters+k, v*paperClusters+name
				gap := q.Mean[j] - mean[i]
				squares += gap * gap
				ratio := q.Variance[j] / variance[i]
				kl += (ratio - 1 - math.Log(ratio) + gap*gap/variance[i]) / 2
			}
			apart += math.Sqrt(squares) / paperClusters
		}
		if apart < distance {
			distance, divergence = apart, kl
		}
	}
	try(nil, 0)
	return distance, divergence
}

// A paperRun describes one fit of SEP or DPSEP to the mixture.
type paperRun struct {
	name    string
	public  bool    // whether the fit starts at a public point near the clusters, not at a draw from the prior
	steps   int     // number of passes
	epsilon float64 // proved ε under add-remove; 0 without privacy
	sites   bool    // whether a site matches moments instead of being tied

	published float64 // noise multiplier of the paper's steps; 0 for DPSEP
}

const paperDelta = 1e-5

// multiplier returns the noise multiplier for which the given number of sums over all records costs
// epsilon.
func multiplier(t testing.TB, epsilon float64, steps int) float64 {
	t.Helper()
	c, err := accountant.CalibrateNoise(accountant.Target{Epsilon: epsilon, Delta: paperDelta}, func(sigma float64) (accountant.Event, error) {
		return accountant.Repeated{Event: accountant.Gaussian{Sigma: sigma, Sensitivity: 1, Adjacency: accountant.AddRemove}, Times: steps}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.Value
}

func (c paperRun) provable() float64 {
	if c.published > 0 {
		return accountant.GaussianEpsilon(math.Sqrt(float64(c.steps))/c.published, paperDelta)
	}
	return c.epsilon
}

// fit runs SEP if epsilon is 0, and DPSEP otherwise.
func (c paperRun) fit(t testing.TB, x, truth []float64, sigma float64, seed uint64) *solver.Approximation {
	t.Helper()
	const clip, weight, startSD = 8, 1, 1
	tilted := NewMixture(paperClusters, paperVariables, paperSD, x, !c.sites, weight)
	family := tilted.Family()
	prior := unit(family)
	for i := range tilted.dim {
		prior[tilted.dim+i] = 1 / paperPrior
	}
	r := rand.New(rand.NewPCG(seed, 3))
	start := slices.Clone(truth)
	for i := range start {
		if c.public {
			start[i] += 0.3 * r.NormFloat64()
		} else {
			start[i] = math.Sqrt(paperPrior) * r.NormFloat64()
		}
	}
	o := SEPOptions{Power: 1, Rate: 1, StepSize: 1, Recency: 1, Nominal: paperRecords, Improper: study.Project, StartMean: start, StartSD: startSD, Reseat: c.steps / 2}
	factor := make([]float64, family.Size())
	var err error
	switch {
	case c.published > 0:
		err = c.fitPublished(t, factor, prior, tilted, o, seed)
	case c.epsilon == 0:
		err = SEP(factor, prior, tilted, o, c.steps)
	default:
		o.PrecisionNoise = sigma * clip / weight
		m := sampled(t, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Records: paperRecords, Steps: c.steps, Dim: tilted.Size(), Clip: clip, NoiseMultiplier: sigma})
		var s *DPSEP
		if s, err = NewDPSEP(tilted, m, o, c.steps); err == nil {
			_, err = s.Propose(factor, solver.Problem{Family: family, Natural: prior, Cavity: prior}, seeded.Stream(seed, "visit"))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return posterior(t, family, prior, factor)
}

// fitPublished fits the mixture by the steps of the paper, with γ = C = 1 and batches of one
// record.
func (c paperRun) fitPublished(t testing.TB, factor, prior []float64, tilted *Mixture, o SEPOptions, seed uint64) error {
	t.Helper()
	o.Rate, o.Published, o.Raw, o.Clip, o.Reseat = 1.0/paperRecords, true, true, 1, 0
	steps := c.steps * paperRecords
	m := sampled(t, dpmech.SampledConfig{
		Sampling: dpmech.Permutation{Batches: paperRecords}, Records: paperRecords, Steps: steps, Dim: tilted.Size(),
		Clip: 1, NoiseMultiplier: 2 * c.published, Adjacency: accountant.ReplaceOne,
	})
	s, err := NewDPSEP(tilted, m, o, steps)
	if err != nil {
		return err
	}
	_, err = s.Propose(factor, solver.Problem{Family: tilted.Family(), Natural: prior, Cavity: prior}, seeded.Stream(seed, "visit"))
	return err
}

// At the same proved ε, the means of q are far nearer to the posterior's than in the paper, which
// reports a distance of 4.27 with a proved ε above 20, and 1.62 with one above 140. The test starts
// at a public point and at a draw from the prior. With FEDPVI_LONG=1 it prints a table for twenty
// data sets, also for the paper's steps.
func TestMixtureOfThePaper(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	long := os.Getenv("FEDPVI_LONG") != ""
	seeds, sweeps := 3, 60
	if long {
		seeds, sweeps = 20, 400
	}
	const passes = 30
	type line struct {
		paperRun
		most float64 // largest distance between the means of q and of the posterior
	}
	lines := []line{
		{paperRun{name: "SEP", public: true, steps: 60}, 2e-3},
		{paperRun{name: "DP-SEP", public: true, steps: passes, epsilon: 1}, 0.15},
		{paperRun{name: "DP-SEP", public: true, steps: passes, epsilon: 5.5}, 0.04},
		{paperRun{name: "SEP", steps: 60}, 0.01},
		{paperRun{name: "DP-SEP", steps: passes, epsilon: 1}, 0.5},
		{paperRun{name: "DP-SEP", steps: passes, epsilon: 5.5}, 0.3},
	}
	if long {
		lines = append(lines,
			line{paperRun{name: "DP-SEP", public: true, steps: passes, epsilon: 50}, 0.02},
			line{paperRun{name: "DP-SEP", steps: passes, epsilon: 50}, 0.3},
			line{paperRun{name: "SEP, moments", public: true, steps: 60, sites: true}, 2e-3},
			line{paperRun{name: "DP-SEP, moments", public: true, steps: passes, epsilon: 1, sites: true}, 0.3},
			line{paperRun{name: "DP-SEP, moments", public: true, steps: passes, epsilon: 5.5, sites: true}, 0.08})
		for _, sigma := range []float64{2.686, 0.740, 0.435} {
			lines = append(lines, line{paperRun{name: fmt.Sprintf("as published, σ = %g", sigma), public: true, steps: 100, sites: true, published: sigma}, math.Inf(1)})
		}
	}
	sigmas := map[[2]float64]float64{}
	for _, l := range lines {
		if l.epsilon > 0 {
			sigmas[[2]float64{l.epsilon, float64(l.steps)}] = multiplier(t, l.epsilon, l.steps)
		}
	}
	distances, divergences := make([]float64, len(lines)), make([]float64, len(lines))
	for seed := range seeds {
		x, truth := paperData(uint64(seed))
		mean, variance := gibbs(x, truth, sweeps, uint64(seed))
		for n, l := range lines {
			q := l.fit(t, x, truth, sigmas[[2]float64{l.epsilon, float64(l.steps)}], uint64(seed))
			distance, divergence := matched(q, mean, variance)
			distances[n] += distance / float64(seeds)
			divergences[n] += divergence / float64(seeds)
		}
	}
	var table strings.Builder
	for n, l := range lines {
		start := "the prior"
		if l.public {
			start = "public"
		}
		epsilon := "none"
		if provable := l.provable(); provable > 0 {
			epsilon = fmt.Sprintf("%.3g", provable)
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %.2g | %.3g |\n", l.name, start, epsilon, distances[n], divergences[n])
		if !(distances[n] <= l.most) {
			t.Errorf("%s from %s at ε = %s: means are %.3g away on average, want at most %g", l.name, start, epsilon, distances[n], l.most)
		}
	}
	if long {
		t.Logf("%d data sets\n| | start | provable ε | F-norm | KL |\n|---|---|---|---|---|\n%s", seeds, table.String())
	}
}

// Reseat splits a cluster that covers two true clusters if another has few or no records. It
// changes nothing if the numbers of records are equal, or if noise can explain the difference.
func TestReseating(t *testing.T) {
	tilted := NewMixture(3, 1, 0.5, nil, true, 1)
	outer := []float64{0, 0, 0, 0.1, 0.1, 0.1}
	factor := func(counts ...float64) []float64 {
		f := make([]float64, 6)
		for k, n := range counts {
			f[3+k] = 4 * n
			f[k] = 4 * n * float64(k)
		}
		return f
	}
	for _, c := range []struct {
		counts []float64
		noise  float64
		moves  bool
	}{
		{[]float64{100, 110, 90}, 0, false},
		{[]float64{200, 60, 40}, 0, true},
		{[]float64{200, 100, 0}, 0, true},
		{[]float64{200, 60, 40}, 400, false},
		{[]float64{0, 0, 0}, 10, false},
	} {
		f := factor(c.counts...)
		if got := tilted.Reseat(f, outer, c.noise, 1); got != c.moves {
			t.Errorf("%v, noise %g: moved %t", c.counts, c.noise, got)
		}
		if !c.moves {
			continue
		}
		if f[3] != 400 || f[5] != 400 || f[4] != 4*c.counts[1] {
			t.Errorf("%v: precisions are %v", c.counts, f[3:])
		}
		at := func(k int) float64 { return (f[k] + outer[k]) / (f[3+k] + outer[3+k]) }
		if gap := math.Abs(at(0) - at(2)); gap == 0 || gap > 1 || math.Abs(at(0)+at(2)) > 1e-6 {
			t.Errorf("%v: the two are at %g and %g, around 0", c.counts, at(0), at(2))
		}
	}
}

// A site has the moments of the tilted distribution of a cluster's mean, from numerical
// integration. If the record's cluster is certain, the tied site is the same.
func TestMixtureSitesMatchMoments(t *testing.T) {
	const sd = 0.6
	x := []float64{0.9}
	c := newCavity(gaussian.Diagonal(2))
	means, variances := []float64{0.3, 1.5}, []float64{0.7, 0.4}
	for k := range means {
		c.Natural[k], c.Natural[2+k] = means[k]/variances[k], 1/variances[k]
	}
	if !c.solve() {
		t.Fatal("the cavity is not proper")
	}
	site := siteUnder(&c.Approximation, NewMixture(2, 1, sd, x, false, 1))
	normal := func(x, mean, variance float64) float64 {
		return math.Exp(-(x-mean)*(x-mean)/(2*variance)) / math.Sqrt(variance)
	}
	for k := range means {
		other := normal(x[0], means[1-k], variances[1-k]+sd*sd)
		density := func(m float64) float64 {
			return normal(m, means[k], variances[k]) * (normal(x[0], m, sd*sd) + other)
		}
		total := along(-8, 8, density)
		first := along(-8, 8, func(m float64) float64 { return m * density(m) }) / total
		second := along(-8, 8, func(m float64) float64 { return (m - first) * (m - first) * density(m) }) / total
		precision := site[2+k] + 1/variances[k]
		if mean := means[k] + site[k]/precision; math.Abs(mean-first) > 1e-6 || math.Abs(1/precision-second) > 1e-6 {
			t.Errorf("cluster %d: N(%g, %g), by an integral N(%g, %g)", k, mean, 1/precision, first, second)
		}
	}
	a := siteUnder(&c.Approximation, NewMixture(2, 1, sd, []float64{40}, true, 1))
	b := siteUnder(&c.Approximation, NewMixture(2, 1, sd, []float64{40}, false, 1))
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-6*(1+math.Abs(a[i])) {
			t.Errorf("a record of one cluster for certain: number %d is %g, and by moments %g", i, a[i], b[i])
		}
	}
}
