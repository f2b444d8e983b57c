package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/accountant"
)

// shifted returns an attack on four Gaussian releases with sd 1. Their means in the two worlds
// differ by actual, but the claim assumes a difference of claimed. So the claim is false if actual
// is larger.
func shifted(actual, claimed float64) attack {
	const releases = 4
	return attack{
		claim: newClaim(accountant.Repeated{Times: releases, Event: accountant.Gaussian{Sensitivity: claimed, Sigma: 1, Adjacency: accountant.AddRemove}}),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			r := rand.New(rand.NewPCG(seed, uint64(2*run+world)))
			seen := make([]float64, releases)
			for i := range seen {
				seen[i] = float64(world)*actual + r.NormFloat64()
			}
			return seen, nil
		},
	}
}

func TestAttackRefutesFalseClaims(t *testing.T) {
	for _, c := range []struct {
		actual, claimed float64
		refuted         bool
	}{{.5, .5, false}, {.5, .6, false}, {.5, .3, true}, {.3, .1, true}} {
		result, err := shifted(c.actual, c.claimed).run(context.Background(), task{seed: 1, runs: 4000, alpha: 1e-8})
		check(t, err)
		if result.Passed == c.refuted {
			t.Errorf("shift %g claimed as %g: %s", c.actual, c.claimed, result.Detail)
		}
		for _, p := range result.Profile.Points {
			if p.AtLeast > p.Seen {
				t.Errorf("the lower bound %g is above the observed value %g", p.AtLeast, p.Seen)
			}
		}
	}
}

// The linear statistic is optimal for Gaussians. Four releases with a shift of .5 must be as easy
// to attack as one Gaussian release with μ = .5·√4.
func TestLinearIsOptimal(t *testing.T) {
	result, err := shifted(.5, .5).run(context.Background(), task{seed: 2, runs: 20_000, alpha: 1e-8})
	check(t, err)
	want := accountant.GaussianDelta(1, 0)
	for _, p := range result.Profile.Points {
		if p.Epsilon == 0 && math.Abs(p.Seen-want) > .015 {
			t.Errorf("advantage %g, want %g ± .015 (three standard errors)", p.Seen, want)
		}
	}
}

// The statistics that mixture and allocation return must be log likelihood ratios.
func TestLikelihoodRatios(t *testing.T) {
	normal := func(x, mean, sd float64) float64 { return math.Exp(-(x-mean)*(x-mean)/(2*sd*sd)) / sd }
	x := []float64{.3, -1.2, 4, .8}
	const q, sd = .2, .7
	var want float64
	for _, xi := range x {
		want += math.Log((1-q)*normal(xi, 0, sd)+q*normal(xi, 1, sd)) - math.Log((1-q)*normal(xi, 0, sd)+q*normal(xi, -1, sd))
	}
	if got := mixture(q, 1, -1, sd).of(x); math.Abs(got-want) > 1e-12 {
		t.Errorf("mixture: %g, want %g", got, want)
	}
	want = 0
	for epoch := 0; epoch < 4; epoch += 2 {
		p := func(c float64) float64 {
			return normal(x[epoch], c, sd)*normal(x[epoch+1], 0, sd) + normal(x[epoch], 0, sd)*normal(x[epoch+1], c, sd)
		}
		want += math.Log(p(1)) - math.Log(p(-.5))
	}
	if got := allocation(2, 1, -.5, sd).of(x); math.Abs(got-want) > 1e-12 {
		t.Errorf("allocation: %g, want %g", got, want)
	}
	if got := mixture(q, 1, 0, 1e-3).of([]float64{1e6}); math.IsNaN(got) || got < 1e9 {
		t.Errorf("far beyond: %g", got)
	}
}

// The trade-off curve that is computed from δ(ε) must lie above the exact curve of a Gaussian
// release, and close to it.
func TestClaimedTradeOff(t *testing.T) {
	c := newClaim(accountant.Gaussian{Sensitivity: 1, Sigma: 1, Adjacency: accountant.AddRemove})
	curve, err := c.tradeOff(shownRates)
	check(t, err)
	for _, r := range curve {
		tpr := distuv.UnitNormal.CDF(1 + distuv.UnitNormal.Quantile(r.FPR))
		if r.TPR < tpr*(1-1e-9) || r.TPR > 1.25*tpr {
			t.Errorf("at a false-positive rate of %.3g: %.4g, exactly %.4g", r.FPR, r.TPR, tpr)
		}
	}
}

// The checks must reject draws that depend on each other or have the wrong distribution, and accept
// correct draws.
func TestNoises(t *testing.T) {
	const alpha = 1e-6
	for _, c := range []struct {
		name    string
		spoil   func(z noises)
		finding string
	}{
		{"right", func(noises) {}, ""},
		{"too small", func(z noises) { z.each(func(_, _, _, _ int, x *float64) { *x *= .9 }) }, "sd 0.8"},
		{"one sender without", func(z noises) {
			z.each(func(_, _, m, _ int, x *float64) {
				if m == 1 {
					*x = 0
				}
			})
		}, "sender 2"},
		{"reused", func(z noises) { z.each(func(k, t, m, i int, x *float64) { *x = z[k][0][m][i] }) }, "releases"},
		{"shared", func(z noises) { z.each(func(k, t, m, i int, x *float64) { *x = z[k][t][0][i] }) }, "sender"},
		{"late and too small", func(z noises) {
			z.each(func(_, t, _, _ int, x *float64) {
				if t == 4 {
					*x *= .8
				}
			})
		}, "release 5"},
		{"reused late", func(z noises) {
			z.each(func(k, t, m, i int, x *float64) {
				if t == 5 {
					*x = z[k][0][m][i]
				}
			})
		}, "releases 5 apart"},
		{"opposite", func(z noises) {
			z.each(func(k, t, m, i int, x *float64) {
				if m == 2 {
					*x = -z[k][t][0][i]
				}
			})
		}, "senders 2 apart: correlation -1"},
		{"passed on", func(z noises) {
			z.each(func(k, t, m, i int, x *float64) {
				if t%2 == 1 && m < 2 {
					*x = z[k][t-1][m+1][i]
				}
			})
		}, "the next release of the sender before"},
		{"repeated runs", func(z noises) { z.each(func(k, t, m, i int, x *float64) { *x = z[0][t][m][i] }) }, "runs"},
		{"cut off", func(z noises) { z.each(func(_, _, _, i int, x *float64) { *x = math.Abs(*x) }) }, "coordinate"},
	} {
		r := rand.New(rand.NewPCG(3, 3))
		z := make(noises, 200)
		for k := range z {
			z[k] = make([][][]float64, 6)
			for t := range z[k] {
				z[k][t] = make([][]float64, 3)
				for m := range z[k][t] {
					z[k][t][m] = []float64{r.NormFloat64(), r.NormFloat64()}
				}
			}
		}
		c.spoil(z)
		var found []string
		for _, result := range []Check{judge(z.variances(), alpha), judge(z.shapes(), alpha), judge(z.correlations(), alpha)} {
			if !result.Passed {
				found = append(found, result.Detail)
			}
		}
		if c.finding == "" && len(found) > 0 || !strings.Contains(strings.Join(found, "; "), c.finding) {
			t.Errorf("%s: found %q, want %q", c.name, found, c.finding)
		}
	}
}

// For each i that firsts returns, the pair (i, i+step) must be within range, and no two pairs may
// overlap.
func TestFirsts(t *testing.T) {
	for n := range 20 {
		for step := -n; step <= n; step++ {
			used := make([]bool, n)
			for _, i := range firsts(n, step) {
				for _, at := range []int{i, i + step} {
					if at < 0 || at >= n || used[at] && step != 0 {
						t.Fatalf("distance %d of %d: index %d", step, n, at)
					}
					used[at] = true
				}
			}
			if step != 0 && abs(step) < n && !slices.Contains(used, true) {
				t.Errorf("distance %d of %d: there is no pair", step, n)
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

func (z noises) each(do func(run, release, sender, i int, x *float64)) {
	for k := range z {
		for t := range z[k] {
			for m := range z[k][t] {
				for i := range z[k][t][m] {
					do(k, t, m, i, &z[k][t][m][i])
				}
			}
		}
	}
}
