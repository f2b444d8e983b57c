package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
)

// An attack tries to distinguish two data sets, called worlds. In world 0, the null world, the
// protected record or client is absent or replaced. In world 1, the other world, it is present.
type attack struct {
	claim claim

	// observe simulates one run in world 0 or 1, and returns the numbers that the observer can see
	// or compute. Runs are independent of each other.
	observe func(seed uint64, world, run int) ([]float64, error)

	// learn derives the observer's statistics from pilot runs in both worlds.
	learn func(null, other [][]float64) ([]statistic, error)
}

// A statistic turns an observation into one number. The larger it is, the more likely is world 1.
type statistic struct {
	name string
	of   func(seen []float64) float64
}

// A Profile tells how an attack fared against a claimed privacy profile δ(ε).
type Profile struct {
	Runs   int     `json:"runs"` // number of test runs in each world; pilot runs do not count
	Points []Point `json:"points"`

	// Curve is the trade-off curve of the best statistic, for a plot.
	Curve []Rate `json:"curve"`
	// Claimed has the largest true-positive rates that the claim allows at the false-positive rates
	// of Curve.
	Claimed []Rate `json:"claimed"`
}

// A Point is the test of the claimed δ(ε) at one ε with one statistic.
type Point struct {
	Epsilon float64 `json:"epsilon"`
	// the world that the test tries to recognise: "other" or "null"
	Direction string  `json:"direction"`
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

// run learns statistics from pilot runs, and then tests the claim on further runs.
func (a attack) run(ctx context.Context, task task) (Check, error) {
	claimed, err := a.claim()
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

// play simulates n runs in each world, beginning with run number first, and returns the
// observations.
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

// A rule guesses the world of a run: it compares a statistic with a threshold, which was chosen to
// test the claimed δ(ε) at one ε.
type rule struct {
	statistic statistic
	at        int // index of this ε in Epsilons
	world     int // the world that the rule guesses when the threshold is reached: 0 is the null world, 1 the other one
	threshold float64
}

// rulesFrom returns a rule for each world and each ε in [Epsilons]. null and other are the values
// of s in the pilot runs of the two worlds. Each threshold maximises TPR − e^ε·FPR in these runs.
// TPR is the share of runs in the rule's own world that the rule assigns to it, and FPR is this
// share in the opposite world.
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
				// A rule guesses its world if the value is at least the threshold.
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
		out[i] = sign * x
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// recognises returns the number of runs that the rule assigns to its world.
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

// test compares the claimed δ with the rule's guesses in the given runs. If the claim holds, TPR −
// e^ε·FPR is at most δ. The claim is refuted if the lower confidence bound exceeds δ. A true claim
// is refuted with probability at most alpha.
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

// verdict judges the profile by its worst point: the one where the lower bound exceeds the claimed
// δ most or, if it exceeds it nowhere, comes closest.
func (p *Profile) verdict() Check {
	w := slices.MaxFunc(p.Points, func(a, b Point) int { return cmp.Compare(a.AtLeast-a.Claimed, b.AtLeast-b.Claimed) })
	return Check{
		Passed:  !w.Refuted,
		Profile: p,
		Detail:  fmt.Sprintf("δ(%g): claimed %.4g; seen %.4g, surely %.4g, by %s in %d runs", w.Epsilon, w.Claimed, max(0, w.Seen), max(0, w.AtLeast), w.Statistic, 2*p.Runs),
	}
}
