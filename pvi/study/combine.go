package study

import (
	"math"

	"fedpvi/internal/document"
)

// A Combination is the rule that computes from the releases of all clients in a round by how much λ
// moves.
type Combination string

// The median and the trimmed mean are robust: a few clients with unusual releases change them
// little. They are computed from releases that are published anyway, so they cost no privacy. They
// are useful if all clients have about the same number of records.
const (
	BySum     Combination = "sum"     // sum of the releases; the default
	ByMedian  Combination = "median"  // number of releases times the median of each element
	ByTrimmed Combination = "trimmed" // number of releases times the mean of each element without the smallest and the largest quarter
)

// Robust reports whether c bounds the influence of a minority of clients on the result.
func (c Combination) Robust() bool { return c == ByMedian || c == ByTrimmed }

// Loss returns the price of robustness: the variance of the combination c divided by the variance
// of the sum. The noise and the differences between clients are assumed to be Gaussian. Loss
// returns the limit of this ratio for many clients, which is also its largest value: π/2 for the
// median, and 1.2 for the trimmed mean (Huber and Ronchetti, Robust Statistics, 2009, section 1).
func (c Combination) Loss() float64 {
	switch c {
	case ByMedian:
		return math.Pi / 2
	case ByTrimmed:
		return 1.2
	}
	return 1
}

// readCombine reads the key federation.combine. It refuses a robust combination unless each
// client's release is published, and is the difference between a factor that does not depend on the
// round and a public share of λ.
func readCombine(s *Study, federation *document.Table) {
	f := &s.Federation
	f.Combine = BySum
	if !readChoice(federation, "combine", &f.Combine, BySum, ByMedian, ByTrimmed) || !f.Combine.Robust() {
		return
	}
	switch in := &s.Inference; {
	case s.Version < 2:
		federation.Errorf("combine", "needs version 2 of the study language or a later one: write study.version = 3, or remove combine")
	case s.Privacy.Unit == None || f.Opens != OpenMessages:
		federation.Errorf("combine", `%q needs the release of each client, and this study publishes none: write privacy.unit = "record" and federation.opens = %q, or remove combine`, f.Combine, OpenMessages)
	case in.Solver == Scoring:
		federation.Errorf("combine", `%q cannot be used with solver = %q, which computes intervals from the noise and the bias of sums. For a combination that leaves clients out neither is known, so its intervals would be too short. Write solver = %q, factors = %q and intervals = "none", or remove combine; coordinator exclude leaves out a client`, f.Combine, Scoring, ClippedAnalytical, Tied)
	case in.Solver != ClippedAnalytical || in.Factors != Tied || in.Schedule != Synchronous:
		federation.Errorf("combine", `%q combines factors that do not depend on the round: write solver = %q, factors = %q and schedule = %q, or remove combine`, f.Combine, ClippedAnalytical, Tied, Synchronous)
	}
}
