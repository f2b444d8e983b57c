package truth

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi/words"
	"fedpvi/sim/report"
)

// List writes a table of the cells, with their numbers and the level of each property.
func List(w io.Writer, cells []Cell) error {
	rows := [][]string{append([]string{"cell"}, Names()...)}
	for _, c := range cells {
		row := []string{fmt.Sprint(c.Number)}
		for _, name := range Names() {
			row = append(row, cmp.Or(c.Level(name), "–"))
		}
		rows = append(rows, row)
	}
	return words.Table(w, "  ", len(rows[0]), rows)
}

// A Summary combines all outcomes of a cell.
type Summary struct {
	Cell
	Replications int
	Failed       int
	Reason       string

	// means over replications of the fields of [Measures]; Truth is NaN if the truth is unknown
	Truth, Pooled, Prior float64
	// upper end of the 99 % confidence interval of Pooled; NaN for fewer than two replications
	Upper              float64
	Width, WidthPooled float64 // medians over replications
	Ideal              float64 // median, over replications, of the ideal sd divided by the prior's sd
	RMS                float64 // root mean square over replications
	// mean difference between log scores: the pooled fit minus the posterior (Loss), and the
	// posterior minus the prior (Gain)
	Loss, Gain float64
	Seconds    float64 // mean over replications

	Kinds  map[string]*Summary // summaries of the coefficients, effects and spreads (see [Kinds]); nil without groups
	Spread float64             // mean of the largest spread of effects; NaN without groups
	Small  int                 // number of replications in which every spread of effects may be 0
}

// Signal reports whether the records of this cell tell enough about θ: the ideal release leaves sds
// of at most half the prior sds.
func (s *Summary) Signal() bool { return s.Ideal <= .5 }

// Summarise returns a summary of each cell, ordered by cell number.
func Summarise(outcomes []Outcome) []Summary {
	var all []Summary
	for _, outcomes := range byCell(outcomes) {
		s := summarise(outcomes, func(r *Replication) *Measures { return &r.Measures })
		if s.Groups > 0 {
			s.Kinds = map[string]*Summary{}
			for _, kind := range Kinds {
				of := summarise(outcomes, func(r *Replication) *Measures { return r.Kinds[kind] })
				s.Kinds[kind] = &of
			}
		}
		all = append(all, s)
	}
	return all
}

// byCell groups outcomes by cell, ordered by cell number.
func byCell(outcomes []Outcome) [][]Outcome {
	groups := map[int][]Outcome{}
	for _, o := range outcomes {
		groups[o.Cell.Number] = append(groups[o.Cell.Number], o)
	}
	var all [][]Outcome
	for _, number := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, groups[number])
	}
	return all
}

// summarise combines all replications of one cell. measures selects which of their measures count,
// for example those of one kind of coordinates.
func summarise(outcomes []Outcome, measures func(*Replication) *Measures) Summary {
	s := Summary{Cell: outcomes[0].Cell}
	var truth, pooled, prior, width, wide, ideal, squares, loss, gain, seconds, spread []float64
	for _, o := range outcomes {
		for _, r := range o.Replications {
			s.Replications++
			seconds = append(seconds, r.Seconds)
			if r.Failed != "" {
				s.Failed++
				s.Reason = cmp.Or(s.Reason, r.Failed)
				continue
			}
			m := measures(r)
			if m.Truth != nil {
				truth = append(truth, *m.Truth)
			}
			pooled, prior = append(pooled, m.Pooled), append(prior, m.Prior)
			width, wide, ideal = append(width, m.Width), append(wide, m.WidthPooled), append(ideal, m.Ideal)
			squares = append(squares, m.RMS*m.RMS)
			if r.Spread != nil {
				spread = append(spread, *r.Spread)
				s.Small += count(*r.Spread < smallSpread || r.Zero)
			}
			loss, gain = append(loss, r.LogPooled-r.Log), append(gain, r.Log-r.LogPrior)
		}
	}
	s.Truth, s.Pooled, s.Prior, s.Upper = mean(truth), mean(pooled), mean(prior), upper(pooled)
	s.Width, s.WidthPooled, s.Ideal, s.RMS = median(width), median(wide), median(ideal), math.Sqrt(mean(squares))
	s.Loss, s.Gain, s.Seconds, s.Spread = mean(loss), mean(gain), mean(seconds), mean(spread)
	return s
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v
	}
	return m / float64(len(values))
}

// upper returns the upper end of the 99 % confidence interval for the mean, using Student's t
// distribution. It returns NaN if there are fewer than two values.
func upper(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return math.NaN()
	}
	m := mean(values)
	var squares float64
	for _, v := range values {
		squares += (v - m) * (v - m)
	}
	return m + distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(.995)*math.Sqrt(squares/(n-1)/n)
}

// Write writes a row for each level of each property, followed by the overall verdict.
func Write(w io.Writer, all []Summary) error {
	rows := [][]string{{"property", "level", "cells", "truth", "pooled", "prior's", "signal", "width", "90 %", "rms", "below pooled", "above prior", "seconds"}}
	for _, name := range Names() {
		levels := map[string][]Summary{}
		for _, s := range all {
			if s.Level(name) != "" {
				levels[s.Level(name)] = append(levels[s.Level(name)], s)
			}
		}
		for i, level := range slices.SortedFunc(maps.Keys(levels), byNumber) {
			label := ""
			if i == 0 {
				label = name
			}
			rows = append(rows, line(label, level, levels[level]))
		}
	}
	for i, kind := range Kinds {
		var of []Summary
		for _, s := range all {
			if s.Groups > 0 {
				of = append(of, *s.Kinds[kind])
			}
		}
		if len(of) > 0 {
			label := ""
			if i == 0 {
				label = "with groups"
			}
			rows = append(rows, line(label, kind, of))
		}
	}
	rows = append(rows, line("all", "", all))
	if err := words.Table(w, "  ", 2, rows); err != nil {
		return err
	}
	return verdict(w, all)
}

func byNumber(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(x, y)
}

// pick returns f of every cell, leaving out NaN.
func pick(all []Summary, f func(*Summary) float64) (values []float64) {
	for i := range all {
		if v := f(&all[i]); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

func line(label, level string, cells []Summary) []string {
	width := pick(cells, func(s *Summary) float64 { return s.Width })
	signal := 0
	for _, s := range cells {
		signal += count(s.Signal())
	}
	return []string{
		label, level, fmt.Sprint(len(cells)),
		dashed("%.3f", mean(pick(cells, func(s *Summary) float64 { return s.Truth }))),
		dashed("%.3f", mean(pick(cells, func(s *Summary) float64 { return s.Pooled }))),
		dashed("%.3f", mean(pick(cells, func(s *Summary) float64 { return s.Prior }))),
		fmt.Sprint(signal),
		dashed("%.2f", median(width)), dashed("%.2f", report.Quantile(width, .9)),
		dashed("%.2f", median(pick(cells, func(s *Summary) float64 { return s.RMS }))),
		dashed("%.4f", median(pick(cells, func(s *Summary) float64 { return s.Loss }))),
		dashed("%.4f", median(pick(cells, func(s *Summary) float64 { return s.Gain }))),
		dashed("%.1f", mean(pick(cells, func(s *Summary) float64 { return s.Seconds }))),
	}
}

// These are the limits of the verdict.
const (
	least, most = .87, .94 // coverage of 90 % intervals
	tooLittle   = .80      // coverage below which a cell fails
	// how much lower the posterior's log score may be than the prior's
	worse       = .01
	smallSpread = .1 // the posterior mean of a spread must not exceed this if groups do not differ
)

func verdict(w io.Writer, all []Summary) error {
	share := func(cells []Summary, holds func(*Summary) bool) string {
		n := 0
		for i := range cells {
			n += count(holds(&cells[i]))
		}
		return fmt.Sprintf("%d of %d", n, len(cells))
	}
	within := func(x float64) bool { return least <= x && x <= most }
	var played, signal, hidden, true_ []Summary
	failed, replications, seconds := 0, 0, 0.0
	for _, s := range all {
		replications += s.Replications
		seconds += s.Seconds * float64(s.Replications)
		if s.Failed == s.Replications {
			failed++
			continue
		}
		played = append(played, s)
		if !s.Signal() {
			hidden = append(hidden, s)
			continue
		}
		signal = append(signal, s)
		if !math.IsNaN(s.Truth) {
			true_ = append(true_, s)
		}
	}
	width := pick(signal, func(s *Summary) float64 { return s.Width })
	fmt.Fprintf(w, `
%d cells, %d replications, %.2f core-hours in federations; %d cells failed altogether.

Where an ideal release at least halves the prior's sds:
  coverage of draws of the pooled posterior within [%.2f, %.2f]: %s cells; at least %.2f: %s
  coverage of the truth within [%.2f, %.2f]: %s cells; at least %.2f: %s
  width against the ideal: median %.2f, 90 %% of cells at most %.2f
Elsewhere:
  coverage of draws of the pooled posterior at least %.2f or the prior's own: %s cells
All:
  99 %% interval of coverage wholly below %.2f: %s cells
  held-out log score more than %.2f below the prior's: %s cells
`, len(all), replications, seconds/3600, failed,
		least, most, share(signal, func(s *Summary) bool { return within(s.Pooled) }), least, share(signal, func(s *Summary) bool { return s.Pooled >= least }),
		least, most, share(true_, func(s *Summary) bool { return within(s.Truth) }), least, share(true_, func(s *Summary) bool { return s.Truth >= least }),
		median(width), report.Quantile(width, .9),
		least, share(hidden, func(s *Summary) bool { return s.Pooled >= min(least, s.Prior) }),
		tooLittle, share(played, fails),
		worse, share(played, func(s *Summary) bool { return s.Gain < -worse }))
	if err := spreads(w, all); err != nil {
		return err
	}
	return failures(w, all)
}

// spreads writes the coverage for each kind of coordinate in models with groups. It uses only cells
// with informative records. It also writes the posterior spread for groups that do not differ.
func spreads(w io.Writer, all []Summary) error {
	grouped := slices.DeleteFunc(slices.Clone(all), func(s Summary) bool { return s.Groups == 0 || s.Failed == s.Replications })
	if len(grouped) == 0 {
		return nil
	}
	rows := [][]string{{"where there is signal", "cells", "truth", "pooled", "prior's", "width", "rms"}}
	for _, kind := range Kinds {
		var of []Summary
		for _, s := range grouped {
			if k := s.Kinds[kind]; k.Signal() {
				of = append(of, *k)
			}
		}
		l := line("", "", of)
		rows = append(rows, []string{kind, l[2], l[3], l[4], l[5], l[7], l[9]})
	}
	fmt.Fprint(w, "\nModels with groups:\n\n")
	if err := words.Table(w, "  ", 1, rows); err != nil {
		return err
	}
	for _, s := range grouped {
		if s.Spread > 0 && s.Level("spread") == "none" {
			fmt.Fprintf(w, "  cell %d, groups that do not differ: largest spread %.3f on average, below %.1f or with 0 in its interval in %d of %d\n", s.Number, s.Spread, smallSpread, s.Small, s.Replications)
		}
	}
	return nil
}

// fails reports, with a confidence of 99.5 %, whether the coverage is below tooLittle.
func fails(s *Summary) bool { return s.Upper < tooLittle }

func failures(w io.Writer, all []Summary) error {
	rows := [][]string{{"cell", "levels", "truth", "pooled", "prior's", "width", "rms"}}
	for _, s := range all {
		switch {
		case s.Failed > 0:
			rows = append(rows, []string{fmt.Sprint(s.Number), s.String(), fmt.Sprintf("%d of %d failed: %s", s.Failed, s.Replications, s.Reason)})
		case fails(&s):
			rows = append(rows, []string{
				fmt.Sprint(s.Number), s.String(), fmt.Sprintf("%.2f", s.Truth), fmt.Sprintf("%.2f", s.Pooled),
				fmt.Sprintf("%.2f", s.Prior), fmt.Sprintf("%.2f", s.Width), fmt.Sprintf("%.2f", s.RMS),
			})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	fmt.Fprint(w, "\nCells that fail:\n\n")
	return words.Table(w, "  ", 2, rows)
}
