package study

import (
	"math"

	"fedpvi/internal/document"
)

// A Combination says how to compute the change of λ from the releases of all clients.
type Combination string

// The median and the trimmed mean are robust: a few unusual releases hardly change them. They cost
// no extra privacy, because the releases are public. They suit clients with similar numbers of
// records.
const (
	BySum     Combination = "sum"     // sum of the releases; the default
	ByMedian  Combination = "median"  // median of each element, times the number of releases
	ByTrimmed Combination = "trimmed" // mean of the middle half of the values of each element, times the number of releases
)

// Robust reports whether c limits the influence of a minority of clients.
func (c Combination) Robust() bool { return c == ByMedian || c == ByTrimmed }

// Loss returns the price of robustness: how much larger the variance of c is than that of the sum,
// as a ratio. It assumes that the noise and the differences between clients are Gaussian. The ratio
// grows with the number of clients, and Loss returns its limit (Huber and Ronchetti, Robust
// Statistics, 2009, section 1).
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
// factors that every reader can compute as shares of λ.
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
