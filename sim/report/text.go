package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"fedpvi/accountant"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
	"fedpvi/sim"
)

// These are short names for functions in package words, which formats text for all programs.
var (
	number = words.Number
	plural = words.Plural
	wrap   = words.Wrap
)

// Posterior writes tables that compare the reported posterior, or point estimates, with the
// posterior of the pooled records. The tables are in natural units and, if that scale is different,
// also on the model's scale. Tables of further results follow. For ratios see [words.Natural].
func Posterior(w io.Writer, st *study.Study, r *sim.Result, ratios bool) error {
	if st.Model.Absent() {
		_, err := fmt.Fprintf(w, "%s of %s. The study has no model.\n", plural(r.Records, "record"), plural(r.Clients, "client"))
		for _, note := range r.Notes {
			io.WriteString(w, wrap(note))
		}
		return err
	}
	if r.Estimates != nil {
		return estimates(w, st, r, ratios)
	}
	fmt.Fprintf(w, "Posterior of %s from %s of %s\n\n", plural(len(r.Posterior), parameterName(st)), plural(r.Records, "record"), plural(r.Clients, "client"))
	names, natural, pooled := make([]string, len(r.Posterior)), make([]fit.Natural, len(r.Posterior)), make([]fit.Natural, len(r.Posterior))
	rows := [][]string{{"", "mean", "sd", "2.5 %", "97.5 %"}}
	if r.NoiseAware != nil {
		rows[0] = append(append(rows[0], "│"), rows[0][1:]...)
	}
	for i, m := range r.Shown() {
		names[i], natural[i], pooled[i] = m.Name, m.Natural, r.NonPrivate[i].Natural
		row := []string{m.Name, number(m.Mean), number(m.SD), number(m.Lower), number(m.Upper)}
		if q := r.Posterior[i]; r.NoiseAware != nil {
			row = append(row, "│", number(q.Mean), number(q.SD), number(q.Lower), number(q.Upper))
		}
		rows = append(rows, row)
	}
	if err := words.Natural(w, names, natural, pooled, ratios); err != nil {
		return err
	}
	belowTable(w, r)
	if r.NoiseAware != nil || !r.Units.Identity() {
		fmt.Fprintf(w, "\nOn the model's scale%s\n\n", scaleNote(st))
		if err := words.Table(w, "  ", 1, rows); err != nil {
			return err
		}
		if r.NoiseAware != nil {
			io.WriteString(w, "\nRight of the bar: q, which the rounds move, without the privacy noise.\n")
		}
		if r.Scale == nil {
			io.WriteString(w, "\n")
		}
	}
	if err := scaleTable(w, r.Scale); err != nil {
		return err
	}
	if err := quantitiesTable(w, r); err != nil {
		return err
	}
	if r.Prior != nil {
		io.WriteString(w, "Against the prior, and with other priors, on the model's scale\n\n")
		if err := words.AgainstPrior(w, r.Prior); err != nil {
			return err
		}
		io.WriteString(w, "\n")
	}
	if err := influenceTable(w, r); err != nil {
		return err
	}
	of := "q"
	if st.Version > 1 {
		of = "this posterior"
	}
	_, err := fmt.Fprintf(w, "KL divergence of %s from the pooled posterior: %.4g nats. %s\n%s", of, *r.KL, moves(r), wrap(natsNote))
	return err
}

// The divergence of N(0, 1) from N(d, 1) is d²/2.
const natsNote = "Equal posteriors have 0 nats. In one coefficient, means that are one sd apart have 0.5 nats."

func quantitiesTable(w io.Writer, r *sim.Result) error {
	if r.Quantities == nil {
		return nil
	}
	io.WriteString(w, "\n"+words.QuantitiesTitle+"\n\n")
	if err := words.Quantities(w, r.Quantities, r.NonPrivateQuantities); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// mostInfluences is the maximum number of clients in the table of influences.
const mostInfluences = 5

func influenceTable(w io.Writer, r *sim.Result) error {
	if len(r.Influences) == 0 {
		return nil
	}
	io.WriteString(w, "Without a client, the mean of the pooled posterior would move most in\n\n")
	rows := [][]string{{"client", "records", "coefficient", "by"}}
	for _, one := range r.Influences[:min(mostInfluences, len(r.Influences))] {
		rows = append(rows, []string{string(one.Client), fmt.Sprint(one.Records), one.Coefficient, fmt.Sprintf("%+.2f sd", one.Shift)})
	}
	if err := words.Table(w, "  ", 1, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func estimates(w io.Writer, st *study.Study, r *sim.Result, ratios bool) error {
	fmt.Fprintf(w, "Estimates of %s from %s of %s\n\n", plural(len(r.Estimates), parameterName(st)), plural(r.Records, "record"), plural(r.Clients, "client"))
	pooled := make([]fit.Natural, len(r.NonPrivate))
	for i, m := range r.NonPrivate {
		pooled[i] = m.Natural
	}
	if err := words.Estimates(w, r.Estimates, pooled, ratios); err != nil {
		return err
	}
	belowTable(w, r)
	if err := scaleTable(w, r.Scale); err != nil {
		return err
	}
	if err := quantitiesTable(w, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "The estimates are %.4g sds of the pooled posterior from its mean (root mean square). %s\n", *r.Apart, moves(r))
	return err
}

// belowTable explains the columns to the right of the bar in a posterior table.
func belowTable(w io.Writer, r *sim.Result) {
	right := "the posterior of the pooled records without privacy"
	if r.Reference != sim.ExactReference {
		right = "the pooled records without privacy, by " + r.Reference
	}
	fmt.Fprintf(w, "\nRight of the bar: %s.\n", right)
	for _, note := range r.Notes {
		io.WriteString(w, wrap(note))
	}
}

func moves(r *sim.Result) string {
	return fmt.Sprintf("λ moved in %d of %d outcomes%s.", r.Accepted, r.Outcomes, rejections(r))
}

func parameterName(st *study.Study) string {
	if st.Model.Conjugate() {
		return "coefficient"
	}
	return "parameter"
}

func rejections(r *sim.Result) string {
	var parts []string
	if r.Rejected > 0 {
		parts = append(parts, fmt.Sprintf("%d would have left no proper distribution", r.Rejected))
	}
	if r.Void > 0 {
		parts = append(parts, fmt.Sprintf("%d had too few answers", r.Void))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func scaleNote(st *study.Study) string {
	if !st.Model.Standardise {
		return ""
	}
	mapped := ", on columns mapped to [−1, 1] by their bounds"
	if st.Standardisation != nil {
		mapped += ", as the standardisation found them"
	}
	for _, i := range st.Reads() {
		if st.Columns[i].Spread > 0 {
			mapped = ", on columns scaled as the study says"
		}
	}
	if st.Model.Kind() != study.Measured {
		return mapped
	}
	c, _ := st.Column(st.Model.Outcome)
	unit := c.Unit
	if unit == "" {
		unit = "of " + c.Name
	}
	return fmt.Sprintf(mapped+": a coefficient of 1 is %s %s", number(st.OutcomeUnit()), unit)
}

// Statement writes the privacy statement in plain words.
func Statement(w io.Writer, r *sim.Result) error {
	p := r.Privacy
	var b strings.Builder
	b.WriteString("Privacy\n\n")
	switch p.Unit {
	case study.None:
		b.WriteString("None. This run has no privacy: every client computed and sent its factor without noise.\n")
		_, err := io.WriteString(w, b.String())
		return err
	case study.Client:
		if p.Scores {
			votes := " and about where the values of each regressor lie"
			if p.Modes {
				votes = " with votes for the location of the mode of its records"
			}
			b.WriteString(wrap(fmt.Sprintf("The privacy unit is a client: its whole data set. %s released once how much information its records have about each coefficient%s, and %s its gradient and its curvature, each time scaled to norm %s or less. Only sums over the study's minimum of clients or more can be opened; their noise has sd %s.",
				everyOne(r.Clients), votes, times(p.Releases-1), number(p.Clip), number(p.Clip*p.NoiseMultiplier))))
			break
		}
		b.WriteString(wrap(fmt.Sprintf("The privacy unit is a client: its whole data set. %s released %s of its factor, clipped to norm %s. Only sums over the study's minimum of clients or more can be opened; their noise has %s times the clip as standard deviation.",
			everyOne(r.Clients), count(p.Releases, "change"), number(p.Clip), number(p.NoiseMultiplier))))
	case study.Record, study.Person:
		b.WriteString(recordStatement(r))
	}
	if p.ScaleReleases > 0 {
		b.WriteString(wrap(fmt.Sprintf("Before that it released the location of the values of its columns %s, under noise of their own, to find their scale. Every cost below includes this.", times(p.ScaleReleases))))
	}
	if s := p.Selection; s != nil {
		b.WriteString(wrap(fmt.Sprintf("Private records chose the settings of this run. Each of %d candidates ran in this way, with %s of a client in all. Each client then released once how well the candidates predict records that it had set aside. The scores of each record were clipped to norm %s, with noise of %s times that. The costs below include all of this.",
			len(s.Candidates), plural(s.Releases, "release"), number(s.ScoreClip), number(s.ScoreNoise))))
	}
	b.WriteByte('\n')
	b.WriteString(wrap(words.Headline(costs(p))) + wrap(p.Conditions))
	b.WriteByte('\n')
	if err := views(&b, p); err != nil {
		return err
	}
	b.WriteByte('\n')
	b.WriteString(wrap(oddsInWords(p)))
	if p.AtTwo != "" {
		b.WriteByte('\n')
		b.WriteString(wrap(p.AtTwo))
	}
	if !p.Sound {
		b.WriteByte('\n')
		b.WriteString(unsound(p.Promise))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func recordStatement(r *sim.Result) string {
	p := r.Privacy
	if p.Parts > 0 {
		text := wrap(fmt.Sprintf("The privacy unit is %s. %s released %s of its factor, the sum over %s of its records, each part's clipped to norm %s, with noise of %s times the clip as standard deviation. Adding or removing a %s changes one part, by up to twice the clip.",
			p.Protects, everyOne(r.Clients), count(p.Releases, "change"), plural(p.Parts, "part"), number(p.Clip), number(p.NoiseMultiplier), p.Unit))
		if p.Opens == study.OpenSums {
			text += wrap("Each added a share of that noise: only sums over the study's minimum of clients or more can be opened.")
		}
		return text
	}
	if p.Scores {
		tables := ""
		if p.Tables {
			tables = " The first sum also had the tables that describe the records."
		}
		if p.HeldOut {
			tables += " The last sum scores the predictions of records that were held out from the fit; a record pays for both."
		}
		text := wrap(fmt.Sprintf("The privacy unit is %s. %s released a sum over its records %s: of gradients at published points with counts of their lengths, and in some rounds of the columns' values, of curvatures and, for a Poisson regression, of squared residuals.%s The vector of each record was clipped to norm %s or less, with noise of sd %s.",
			p.Protects, everyOne(r.Clients), times(p.Releases), tables, number(p.Clip), number(p.Clip*p.NoiseMultiplier)))
		if p.Opens == study.OpenSums {
			text += wrap("Each added a share of that noise: only sums over the study's minimum of clients or more can be opened.")
		}
		return text
	}
	what := "the statistics of its records " + times(p.Releases)
	if p.Tables {
		what = "the sums from which the tables of its records are computed " + times(p.Releases)
	}
	switch {
	case p.LastRelease:
		what = "a sum of its records' " + summed(p) + " " + times(p.Releases-1)
	case p.Gradients && p.Statistics > 0:
		what = "a sum of its records' statistics, under noise of its own, and a sum of its records' gradients " + times(p.Releases-p.Statistics)
	case p.Gradients:
		what = "a sum of its records' " + summed(p) + " " + times(p.Releases)
	}
	one := "each record's"
	if p.Unit == study.Person && p.Gradients {
		one = "those of a person added up and"
	}
	how := "with noise of %s times the clip as standard deviation."
	if !p.Tables {
		how += " Its other messages were computed from these releases."
	}
	if p.Opens == study.OpenSums {
		how = "with a share of the noise, and nothing else. Only sums over the study's minimum of clients or more can be opened; their noise has %s times the clip as standard deviation."
	}
	text := wrap(fmt.Sprintf("The privacy unit is %s. %s released %s, %s clipped to norm %s, "+how,
		p.Protects, everyOne(r.Clients), what, one, number(p.Clip), number(p.NoiseMultiplier)))
	if p.LastRelease {
		text += wrap("After the rounds it released its gradient and its curvature once more, with noise of their own, for the intervals; the costs below count them.")
	}
	return text
}

func everyOne(clients int) string {
	if clients == 1 {
		return "The one client"
	}
	return fmt.Sprintf("Each of the %d clients", clients)
}

// costs returns the costs for all observers and adjacencies. The first is the one to which the
// privacy target applies.
func costs(p sim.Privacy) []method.Cost {
	var out []method.Cost
	for _, v := range p.Views {
		out = append(out, method.Cost{View: method.View{Name: v.View, Who: v.Who}, Adjacency: v.Adjacency, Mu: v.Mu, Epsilon: v.Epsilon, Delta: p.Delta})
	}
	return out
}

// oddsInWords describes how much all releases together can change an observer's odds for a
// statement about the records. It considers the observer against which the releases cost most. If
// they are equivalent to a Gaussian mechanism, the distribution of the privacy loss L is known.
// Otherwise the bound follows from Markov's inequality. By the definition of (ε, δ),
//
//	E[max(0, 1 − exp(ε − L))] ≤ δ.
//
// If L ≥ ε + log 2, the argument of E is at least 1/2, so the probability of such an L is at most
// 2δ.
func oddsInWords(p sim.Privacy) string {
	of := method.Strongest(costs(p))
	odds, probability := of.Epsilon+math.Ln2, 2*p.Delta
	if of.Mu > 0 {
		odds, probability = accountant.GaussianOdds(of.Mu, p.Delta), p.Delta
	}
	return fmt.Sprintf("In words, against %s: all releases together can change the odds p/(1 − p) on %s (%s) by a factor of at most %s, except with probability %g. Guessing it succeeds with probability at most %.3f, where tossing a coin succeeds with 0.5.",
		of.View.Who, inWords(p.Adjacency, p.Unit), p.Adjacency, factor(odds), probability, words.RightGuess(of))
}

func views(w io.Writer, p sim.Privacy) error {
	rows := [][]string{{"against", "under", fmt.Sprintf("ε at δ = %g", p.Delta), "μ"}}
	for _, v := range p.Views {
		mu := "–"
		if v.Mu > 0 {
			mu = number(v.Mu)
		}
		rows = append(rows, []string{v.Who, string(v.Adjacency), number(v.Epsilon), mu})
	}
	return words.Table(w, "  ", 2, rows)
}

func summed(p sim.Privacy) string {
	if p.Sites {
		return "sites"
	}
	return "gradients"
}

// unsound returns a warning if the claimed cost of a published method is too low.
func unsound(p *sim.Promise) string {
	if p.Published == method.PublishedSampling && p.Sites {
		return wrap(fmt.Sprintf("NOT PRIVATE AS CLAIMED. Every record is matched once a pass, in a random order. The claim is the cost of steps with independently drawn records, ε = %s at δ = %g (Vinaroz and Park, 2022). No proof shows that the order reduces the cost. Without a reduction the passes cost ε = %s, as the table states. Never use it on real data: the claim of sampling = \"poisson\" is true.",
			number(p.Claimed.Epsilon), p.Delta, number(p.Proven.Epsilon)))
	}
	if p.Published == method.PublishedSampling {
		return wrap(fmt.Sprintf("NOT PRIVATE AS CLAIMED. Batches of a fixed size, drawn without replacement, are claimed to have the cost of independently drawn (Poisson) batches, ε = %s at δ = %g, as published programs do. They cost at least ε = %s; the proven bound, which the table states, is ε = %s. Never use it on real data: the claim of sampling = \"poisson\" is true.",
			number(p.Claimed.Epsilon), p.Delta, number(p.True.Epsilon), number(p.Proven.Epsilon)))
	}
	return wrap(fmt.Sprintf("NOT PRIVATE AS CLAIMED. Published factors are the bookkeeping of Sharma (2019), in which a client's factor contains its own noise. The paper claims ε = %s against an outsider. The exact computation for a client that saturates the clip gives an outsider μ = %s and ε = %s at δ = %g; the proven bound, which the table states, is the cost of opening every message, ε = %s. Never use it on real data: the claims of tied and exact factors are true.",
		number(p.Claimed.Epsilon), number(p.True.Mu), number(p.True.Epsilon), p.Delta, number(p.Proven.Epsilon)))
}

func inWords(a accountant.Adjacency, unit study.Unit) string {
	switch {
	case a == accountant.AddRemove && unit == study.Person:
		return "whether a person's rows are there or not"
	case a == accountant.AddRemove:
		return "whether a row is there or not"
	case a == accountant.ZeroOut:
		return "whether a client's contributions counted or were left out"
	case unit == study.Client:
		return "which of two data sets a client holds"
	case unit == study.Person:
		return "which of two persons' rows are there"
	default:
		return "which of two values a row has"
	}
}

func factor(epsilon float64) string {
	if epsilon > 50 {
		return fmt.Sprintf("10^%.0f", epsilon/math.Ln10)
	}
	return number(math.Exp(epsilon))
}

func count(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return plural(n, what)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
