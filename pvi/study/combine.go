package study

import (
	"math"

	"fedpvi/internal/document"
)

// A Combination is the rule that computes a change of λ from the releases of all clients.
type Combination string

// The median and the trimmed mean are robust: a few unusual releases change them little. They cost
// no privacy, because the releases are public. They suit clients with similar numbers of records.
const (
	BySum     Combination = "sum"     // sum of the releases; the default
	ByMedian  Combination = "median"  // number of releases times the median of each element
	ByTrimmed Combination = "trimmed" // number of releases times the mean of the middle half of its values
)

// Robust reports whether c bounds the influence of a minority of clients.
func (c Combination) Robust() bool { return c == ByMedian || c == ByTrimmed }

// Loss returns the price of robustness: the variance of the combination c divided by the variance
// of the sum. It assumes Gaussian noise and differences between clients. The result is the limit
// for many clients, which is also the maximum (Huber and Ronchetti, Robust Statistics, 2009,
// section 1).
func (c Combination) Loss() float64 {
	switch c {
	case ByMedian:
		return math.Pi / 2
	case ByTrimmed:
		return 1.2
	}
	return 1
}

// readCombine reads the key federation.combine. A robust combination needs published releases, and
// factors that are public shares of λ.
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
