package audit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
)

// An attack tries to distinguish two data sets, called worlds. In world 0, the null world, the
// protected record or client is absent or replaced. In world 1, the other world, it is present.
type attack struct {
	claim *claim

	// observe simulates one run in world 0 or 1, and returns the observer's features. Runs with
	// different numbers are independent.
	observe func(seed uint64, world, run int) ([]float64, error)

	// learn chooses the observer's statistics from runs of both worlds.
	learn func(null, other [][]float64) ([]statistic, error)
}

// A statistic is a function of the observations. It is large for observations that are likely in
// the other world.
type statistic struct {
	name string
	of   func(seen []float64) float64
}

// A Profile is the result of testing a claimed privacy profile with an attack.
type Profile struct {
	Runs   int     `json:"runs"` // number of runs in each world, without the pilot runs
	Points []Point `json:"points"`

	// Curve is the trade-off curve of the best statistic. It is only used in a plot.
	Curve []Rate `json:"curve"`
	// Claimed is the claimed upper bound on the true-positive rate, at several false-positive
	// rates.
	Claimed []Rate `json:"claimed"`
}

// A Point is the result of a test of δ(ε) at one ε, in one direction, with one statistic.
type Point struct {
	Epsilon   float64 `json:"epsilon"`
	Direction string  `json:"direction"` // the world that the statistic recognises, "other" or "null"
	Statistic string  `json:"statistic"`
	Claimed   float64 `json:"claimed"`  // claimed upper bound δ(ε)
	Seen      float64 `json:"seen"`     // observed TPR − e^ε·FPR
	AtLeast   float64 `json:"at_least"` // lower confidence bound of TPR − e^ε·FPR
	Refuted   bool    `json:"refuted"`  // whether AtLeast > Claimed
	TPR       float64 `json:"tpr"`      // true-positive rate in the test runs
	FPR       float64 `json:"fpr"`
}

// A Rate is a point of a trade-off curve.
type Rate struct {
	FPR float64 `json:"fpr"`
	TPR float64 `json:"tpr"`
}

// run runs the attack. It learns statistics from pilot runs, and tests the claim on other runs.
func (a attack) run(ctx context.Context, task task) (Check, error) {
	claimed, err := a.claim.profile()
	if err != nil {
		return Check{}, err
	}
	pilot := max(task.runs/pilotShare, leastPilot)
	worlds, err := a.play(ctx, task.seed, 0, pilot)
	if err != nil {
		return Check{}, err
	}
	statistics, err := a.learn(worlds[0], worlds[1])
	if err != nil {
		return Check{}, err
	}
	var rules []rule
	for _, s := range statistics {
		rules = append(rules, rulesFrom(s, scores(s, worlds[0]), scores(s, worlds[1]))...)
	}
	if worlds, err = a.play(ctx, task.seed, pilot, task.runs); err != nil {
		return Check{}, err
	}
	profile := &Profile{Runs: task.runs}
	for _, r := range rules {
		profile.Points = append(profile.Points, r.test(worlds, claimed[r.at], task.alpha/float64(len(rules))))
	}
	profile.Curve = best(statistics, worlds)
	if profile.Claimed, err = a.claim.tradeOff(shownRates); err != nil {
		return Check{}, err
	}
	return profile.verdict(), nil
}

// play observes n runs in each world, numbered from first.
func (a attack) play(ctx context.Context, seed uint64, first, n int) ([2][][]float64, error) {
	var worlds [2][][]float64
	for world := range worlds {
		worlds[world] = make([][]float64, n)
		for i := range n {
			if err := ctx.Err(); err != nil {
				return worlds, err
			}
			seen, err := a.observe(seed, world, first+i)
			if err != nil {
				return worlds, fmt.Errorf("world %d, run %d: %w", world, first+i, err)
			}
			worlds[world][i] = seen
		}
	}
	return worlds, nil
}

func scores(s statistic, runs [][]float64) []float64 {
	out := make([]float64, len(runs))
	for i, seen := range runs {
		out[i] = s.of(seen)
	}
	return out
}

// A rule decides to which of the two worlds a run belongs, by comparing a statistic with a
// threshold. The threshold is chosen for one ε.
type rule struct {
	statistic statistic
	at        int // index in Epsilons of the ε for which the threshold was chosen
	world     int // the world for which the rule decides: 0 is the null world, 1 is the other world
	threshold float64
}

// rulesFrom returns a rule for each world and each ε in [Epsilons]. The threshold of a rule
// maximises TPR − e^ε·FPR in the pilot runs.
func rulesFrom(s statistic, null, other []float64) []rule {
	var rules []rule
	for world := range 2 {
		recognise, confuse := other, null
		sign := 1.0
		if world == 0 {
			recognise, confuse, sign = null, other, -1
		}
		hits, alarms := descending(recognise, sign), descending(confuse, sign)
		for at, epsilon := range Epsilons {
			bestGain, threshold := 0.0, math.Inf(1)
			for i, t := range hits {
				// A rule decides for its world if the value is at least the rule's threshold.
				j := sort.Search(len(alarms), func(j int) bool { return alarms[j] < t })
				gain := float64(i+1)/float64(len(hits)) - math.Exp(epsilon)*float64(j)/float64(len(alarms))
				if gain > bestGain {
					bestGain, threshold = gain, t
				}
			}
			rules = append(rules, rule{s, at, world, threshold})
		}
	}
	return rules
}

func descending(scores []float64, sign float64) []float64 {
	out := make([]float64, len(scores))
	for i, x := range scores {
		out[i] = -sign * x
	}
	slices.Sort(out)
	for i := range out {
		out[i] = -out[i]
	}
	return out
}

// recognises returns the number of runs for which the rule decides for its world.
func (r rule) recognises(runs [][]float64) int {
	sign := 1.0
	if r.world == 0 {
		sign = -1
	}
	n := 0
	for _, seen := range runs {
		if sign*r.statistic.of(seen) >= r.threshold {
			n++
		}
	}
	return n
}

// test estimates δ from the decisions of the rule in simulated runs. The claimed δ is refuted if
// the lower confidence bound of this estimate exceeds the claimed δ.
func (r rule) test(worlds [2][][]float64, claimed, alpha float64) Point {
	n := len(worlds[0])
	hits, alarms := r.recognises(worlds[r.world]), r.recognises(worlds[1-r.world])
	odds := math.Exp(Epsilons[r.at])
	p := Point{
		Epsilon: Epsilons[r.at], Direction: [2]string{"null", "other"}[r.world], Statistic: r.statistic.name,
		Claimed: claimed,
		TPR:     float64(hits) / float64(n), FPR: float64(alarms) / float64(n),
		AtLeast: binomialLower(hits, n, alpha/2) - odds*binomialUpper(alarms, n, alpha/2),
	}
	p.Seen = p.TPR - odds*p.FPR
	p.Refuted = p.AtLeast > claimed
	return p
}

// verdict returns the result for one point. If some lower bounds exceed their claims, it is the
// point with the largest excess. Otherwise it is the point whose lower bound is nearest to its
// claim.
func (p *Profile) verdict() Check {
	worst := 0
	for i, at := range p.Points {
		if at.AtLeast-at.Claimed > p.Points[worst].AtLeast-p.Points[worst].Claimed {
			worst = i
		}
	}
	w := p.Points[worst]
	return Check{
		Passed:  !w.Refuted,
		Profile: p,
		Detail:  fmt.Sprintf("δ(%g): claimed %.4g; seen %.4g, surely %.4g, by %s in %d runs", w.Epsilon, w.Claimed, max(0, w.Seen), max(0, w.AtLeast), w.Statistic, 2*p.Runs),
	}
}
