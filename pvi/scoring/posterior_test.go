package scoring_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	"fedpvi/internal/testing/formulas"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

var stanFolder = flag.String("stan", "", "folder to which programs of formulas and their records are written for Stan, in place of a test")

// A posterior holds the moments of θ in the model of a formula, and their Monte Carlo standard
// errors.
type posterior struct {
	Mean, SD, MeanError, SDError []float64
}

// A sampled holds the moments of draws from Stan's sampler.
type sampled struct {
	posterior
	Digest    string  // SHA-256 of the program and the records
	Draws     int     // number of draws in all chains, without warm-up
	Divergent int     // number of draws after a divergent transition
	Rhat      float64 // largest R̂ of a coordinate
}

// skewed lists the formulas whose posteriors are far from normal, and says why.
var skewed = map[string]string{
	"slopes":                    "the spreads of intercepts and slopes of ten groups are skewed",
	"curve":                     "the spread of five coefficients is skewed",
	"poisson-groups":            "the spread of the effects of ten groups is skewed",
	"probit-groups":             "the spread of the effects of ten groups is skewed",
	"ordered-groups":            "the spread of the effects of ten groups is skewed",
	"zero-inflated-negbinomial": "the logarithm of the shape is skewed",
	"student":                   "the logarithm of few degrees of freedom is skewed",
	"negbinomial":               "the logarithm of the shape is skewed",
	"hurdle":                    "the logarithm of the shape is skewed",
	"monotonic":                 "the steps of a small effect are skewed",
}

// A pooling holds the pooled records of a formula. It is not private.
type pooling struct {
	model   *fit.Model
	shard   *shard.Shard
	program string // text of the program
	data    []byte // values of the program's data block, as JSON
}

// pool draws records of a formula. They are rounded to six digits, so that they are the same on all
// machines.
func pool(t *testing.T, f formulas.Formula) *pooling {
	t.Helper()
	const n, seed = 500, 2
	st, err := study.Parse("f.toml", []byte(f.Study("study = { version = 2, name = \"f\" }\nprivacy = { unit = \"none\" }\ninference = { q = \"full\" }\n")))
	check(t, err)
	p := &pooling{program: st.Model.Program.Tree.Text}
	p.model, err = fit.New(st)
	check(t, err)
	_, rows := f.Drawn(n, seed)
	records := new(shard.Records)
	for _, row := range rows {
		for j, x := range row {
			row[j], _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
		}
		records.Append(row)
	}
	p.shard = shard.Design(st, records)
	data := map[string]any{st.Model.Program.Records: n}
	for _, v := range st.Model.Program.Variables {
		var column []float64
		for _, row := range rows {
			column = append(column, st.Number(v.Parts[0], row)) // each variable of a formula has a single part
		}
		data[v.Name] = column
	}
	p.data, err = json.Marshal(data)
	check(t, err)
	return p
}

func (p *pooling) digest() string {
	sum := sha256.Sum256(append([]byte(p.program), p.data...))
	return hex.EncodeToString(sum[:])
}

// fitted fits a normal distribution to the posterior.
func (p *pooling) fitted(t *testing.T) (mean []float64, cov *mat.SymDense) {
	t.Helper()
	family := gaussian.Full(p.model.Dim())
	prior, err := p.model.Prior(family)
	check(t, err)
	l, err := p.model.Likelihood(p.shard, 1)
	check(t, err)
	natural := slices.Clone(prior)
	check(t, solver.Pooled(natural, prior, family, []solver.Likelihood{l}, false, nil))
	mean, cov, err = family.Moments(natural)
	check(t, err)
	return mean, cov
}

// density returns the log density of the posterior, up to a constant.
func (p *pooling) density(t *testing.T) func(theta []float64) float64 {
	t.Helper()
	table, err := p.model.Load(p.shard)
	check(t, err)
	each := make([]float64, table.Rows)
	return func(theta []float64) float64 {
		sum := p.model.Program().LogPrior(theta, nil)
		p.model.Program().LogDensities(each, theta, table)
		for _, x := range each {
			sum += x
		}
		return sum
	}
}

// weighted returns the moments of the posterior, computed by importance sampling. The second round
// draws from a multivariate t distribution with the moments from the first.
func (p *pooling) weighted(t *testing.T, mean []float64, cov *mat.SymDense) posterior {
	t.Helper()
	r, density := rand.New(rand.NewPCG(1, 2)), p.density(t)
	var out posterior
	for _, draws := range []int{10_000, 20_000} {
		points, weights := drawn(t, r, density, mean, cov, draws)
		mean, cov = make([]float64, len(mean)), new(mat.SymDense)
		for i := range mean {
			mean[i] = stat.Mean(mat.Col(nil, i, points), weights)
		}
		stat.CovarianceMatrix(cov, points, weights)
		out = posterior{Mean: mean}
		for i, m := range mean {
			var meanError, sdError float64
			variance := cov.At(i, i)
			for k, w := range weights {
				w, off := w/float64(draws), points.At(k, i)-m
				meanError += w * w * off * off
				sdError += w * w * (off*off - variance) * (off*off - variance)
			}
			out.SD = append(out.SD, math.Sqrt(variance))
			out.MeanError, out.SDError = append(out.MeanError, math.Sqrt(meanError)), append(out.SDError, math.Sqrt(sdError/variance)/2)
		}
	}
	return out
}

// drawn draws points from a multivariate t distribution. Their importance weights have mean 1.
func drawn(t *testing.T, r *rand.Rand, density func([]float64) float64, mean []float64, cov *mat.SymDense, draws int) (*mat.Dense, []float64) {
	t.Helper()
	const degrees = 6
	proposal, ok := distmv.NewStudentsT(mean, cov, degrees, r)
	if !ok {
		t.Fatal("the covariance is not positive definite")
	}
	points, weights := mat.NewDense(draws, len(mean), nil), make([]float64, draws)
	for k := range weights {
		theta := proposal.Rand(points.RawRowView(k))
		if weights[k] = density(theta) - proposal.LogProb(theta); math.IsNaN(weights[k]) {
			weights[k] = math.Inf(-1) // theta is outside the support of the posterior
		}
	}
	most := slices.Max(weights)
	for k, log := range weights {
		weights[k] = math.Exp(log - most)
	}
	floats.Scale(float64(draws)/floats.Sum(weights), weights)
	return points, weights
}

// A gap has the largest differences between two posteriors.
type gap struct {
	mean      float64 // in sds
	low, high float64 // ratio of sds
	outside   string  // first coordinate outside of the bounds, or ""
}

// gapOf compares p with Stan's posterior. Means may differ by 0.05 standard deviations, and
// standard deviations by 3 %, plus three standard errors in each case.
func gapOf(names []string, p posterior, stan sampled) gap {
	g := gap{low: math.Inf(1)}
	for i, sd := range stan.SD {
		apart, ratio := math.Abs(p.Mean[i]-stan.Mean[i])/sd, p.SD[i]/sd
		g.mean, g.low, g.high = max(g.mean, apart), min(g.low, ratio), max(g.high, ratio)
		ofMean, ofSD := math.Hypot(p.MeanError[i], stan.MeanError[i])/sd, math.Hypot(p.SDError[i], stan.SDError[i])/sd
		if !(apart <= 0.05+3*ofMean && math.Abs(ratio-1) <= 0.03+3*ofSD) && g.outside == "" {
			g.outside = fmt.Sprintf("%s: mean %.4g and sd %.4g, Stan's %.4g and %.4g", names[i], p.Mean[i], p.SD[i], stan.Mean[i], sd)
		}
	}
	return g
}

// Without privacy, the fit of a formula has nearly the same moments as a long run of Stan's
// sampler, which bench/stan_posteriors.py has stored. If FEDPVI_LONG is set, the test compares all
// formulas for which there is such a run.
func TestPosteriorsOfFormulas(t *testing.T) {
	if *stanFolder != "" {
		for _, f := range formulas.Sampled() {
			p := pool(t, f)
			for end, content := range map[string][]byte{".stan": []byte(p.program), ".json": p.data} {
				check(t, os.WriteFile(filepath.Join(*stanFolder, f.Name+end), content, 0o644))
			}
		}
		return
	}
	source, err := os.ReadFile(filepath.Join("testdata", "posteriors.json"))
	check(t, err)
	var all map[string]sampled
	check(t, json.Unmarshal(source, &all))
	if len(all) < 35 {
		t.Errorf("Stan has only the posteriors of %d formulas", len(all))
	}
	for _, f := range formulas.Sampled() {
		stan, ok := all[f.Name]
		if !ok || os.Getenv("FEDPVI_LONG") == "" && !slices.Contains([]string{"exposure", "categorical", "hurdle-lognormal", "poisson-groups"}, f.Name) {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			p := pool(t, f)
			if got := p.digest(); got != stan.Digest {
				t.Fatalf("the program and the records have the digest %s, Stan's %s: run bench/stan_posteriors.py %s", got, stan.Digest, f.Name)
			}
			compareWithStan(t, f, p, stan)
		})
	}
}

// compareWithStan compares the fit with Stan's moments. If the posterior is skewed, they must
// differ, and the moments from importance sampling must agree with Stan's.
func compareWithStan(t *testing.T, f formulas.Formula, p *pooling, stan sampled) {
	if stan.Rhat > 1.01 {
		t.Errorf("Stan's chains do not agree: R̂ is %.3f", stan.Rhat)
	}
	mean, cov := p.fitted(t)
	q := posterior{Mean: mean, MeanError: make([]float64, len(mean)), SDError: make([]float64, len(mean))}
	for i := range mean {
		q.SD = append(q.SD, math.Sqrt(cov.At(i, i)))
	}
	names, reason := p.model.Names(), skewed[f.Name]
	g, by := gapOf(names, q, stan), "–"
	switch {
	case reason == "" && g.outside != "":
		t.Error(g.outside)
	case reason != "" && g.outside == "":
		t.Errorf("the fit has Stan's moments, although %s", reason)
	case reason != "":
		w := p.weighted(t, mean, cov)
		for i, name := range names {
			if e := w.MeanError[i] / w.SD[i]; !(e < 0.05) {
				t.Errorf("%s: the weighted draws tell its mean with an error of %.3f sds, which is too large", name, e)
			}
		}
		weights := gapOf(names, w, stan)
		if weights.outside != "" {
			t.Errorf("importance weights of the fit: %s", weights.outside)
		}
		by = fmt.Sprintf("%.3f, %.3f–%.3f: %s", weights.mean, weights.low, weights.high, reason)
	}
	if os.Getenv("FEDPVI_LONG") != "" {
		fmt.Printf("| `%s` | `%s` | %d | %.3f | %.3f–%.3f | %s |\n", strings.ReplaceAll(f.Text, "|", `\|`), f.Family, len(mean), g.mean, g.low, g.high, by)
	}
}
