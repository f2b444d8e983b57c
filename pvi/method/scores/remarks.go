package scores

import (
	"fmt"
	"slices"
	"strings"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// A parameter is silent if its posterior standard deviation is more than this share of its prior
// standard deviation.
const silent = 0.9

// With manyGroups groups or more, the spread of their effects has been found to come out too small.
const manyGroups = 20

func (w *walk) Remarks() *method.Remarks {
	clipped, sd, ok := w.state.Clipped()
	if !ok {
		return nil
	}
	out := []string{clippedRecords(clipped, sd, w.state.Records)}
	arrived := w.state.Arrived()
	if !arrived {
		out = append(out, "The last sum of scores is not as expected under this posterior: intervals may miss the truth. More rounds, a model that fits the records better, or wider bounds may help.")
	}
	if median, low, high, ok := w.state.Dispersion(); ok {
		out = append(out, dispersion(median, low, high))
	}
	if slices.ContainsFunc(w.method.Model.Effects(), func(e fit.Effect) bool { return e.Levels >= manyGroups }) {
		out = append(out, "Where 20 groups or more differ and have few records, of which some are clipped, the spread of effects is too small. Do not rely on its interval there: intervals of 90 % hold some 84 % of spreads (docs/prove/bank.md).")
	}
	if w.method.Model.Multiplies() {
		out = append(out, "The program multiplies parameters, and intervals of such factors can be too narrow. This is so for effects of groups that are written as tau * z[site[n]]: give them a prior of their own, alpha ~ normal(mu, tau), and use alpha[site[n]].")
	}
	if names := w.silent(); len(names) > 0 {
		out = append(out, "The records have almost no information about: "+strings.Join(names, ", ")+"."+w.loose()+w.rare())
	}
	if conflict := w.conflict(); conflict != "" {
		out = append(out, conflict)
	}
	return &method.Remarks{Sentences: out, Arrived: arrived, Tables: w.state.Tables(), HeldOut: w.state.Scored()}
}

// clippedRecords returns an interval for the number of clipped records, given a noisy count. The
// interval is limited to [0, records].
func clippedRecords(clipped, sd, records float64) string {
	within := func(n float64) float64 { return min(max(n, 0), records) }
	return fmt.Sprintf("In the last round of scores between %.0f and %.0f of some %.0f records were clipped (95 %%).",
		within(clipped-fit.Normal95*sd), within(clipped+fit.Normal95*sd), records)
}

// dispersion compares the variance of the counts with the variance that a Poisson distribution
// would have.
func dispersion(median, low, high float64) string {
	const fits, much = "family = \"negative-binomial\" fits such counts.", 1.2
	interval := ""
	if low < high { // with many records, low and high may be the same grid point
		interval = fmt.Sprintf(" (between %.1f and %.1f, 95 %%)", low, high)
	}
	switch {
	case median > 1:
		return fmt.Sprintf("The variance of the counts is some %.1f times that of a Poisson distribution%s. The intervals are wider for it: %s", median, interval, fits)
	case high > much:
		return fmt.Sprintf("The intervals hold if the counts vary as a Poisson distribution does. The records do not rule out a variance up to %.1f times as large: %s", high, fits)
	}
	return fmt.Sprintf("The counts vary as a Poisson distribution does, or at most %.1f times as much.", high)
}

// silent lists the parameters about which the records say almost nothing.
func (w *walk) silent() (names []string) {
	_, prior := w.method.begin().Posterior()
	_, cov := w.state.Posterior()
	for i, p := range w.method.Model.Parameters.All() {
		if cov.At(i, i) > silent*silent*prior.At(i, i) {
			names = append(names, p.Name)
		}
	}
	return names
}

// loose advises to give narrower bounds. It returns "" if columns are not mapped from their public
// bounds.
func (w *walk) loose() string {
	if st := w.method.Study; !st.Model.Standardise || st.Standardisation != nil {
		return ""
	}
	return " If the values of a column fill a small part of its bounds, give narrower bounds, or write model.standardise = \"private\"."
}

// rare returns a sentence about levels that few records have, or "" if no column has more than two
// levels.
func (w *walk) rare() string {
	if !slices.ContainsFunc(w.method.Study.Columns, func(c study.Column) bool { return len(c.Levels) > 2 }) {
		return ""
	}
	return " If few records have a level of a column, declare it together with others as one level."
}

// conflict returns a sentence about parameters whose posterior contradicts the prior, or "" if
// there are none. It does not check programs, because their priors need not be normal.
func (w *walk) conflict() string {
	if w.method.Model.General() {
		return ""
	}
	at, prior := w.method.begin().Posterior()
	mean, cov := w.state.Posterior()
	return w.method.Model.Conflict(at, prior, mean, cov)
}
