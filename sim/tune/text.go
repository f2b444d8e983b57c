package tune

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/words"
)

// Write prints the result as a table, followed by the settings to put into the study.
func (f *Found) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s\nOn %s.\n\n", f.title(), f.Data)
	if err := words.Table(w, "  ", 1, f.table()); err != nil {
		return err
	}
	if f.Failed > 0 {
		fmt.Fprintf(w, "\n%d of %d candidates failed in a run. Steps that are too large can cause this.\n", f.Failed, f.Tried)
	}
	best := f.Rows[f.Best]
	if best.Name == Rule && len(best.Settings) > 0 {
		_, err := fmt.Fprintf(w, "\nNo candidate is better than the default rule by more than chance explains, with a clip above four fifths of the gradients of made-up records.%s", best.paste())
		return err
	}
	if best.Name == Rule {
		_, err := fmt.Fprintln(w, "\nNo candidate is better than the default rule by more than chance explains: leave these settings out of the study.")
		return err
	}
	_, err := fmt.Fprintf(w, "\nBetter than the default rule by %.2g ± %.1g.%s", *best.Gain, *best.GainError, best.paste())
	return err
}

func (f *Found) title() string {
	return fmt.Sprintf("%s: %d candidates in %d runs, by the %s of records held out", f.Study, f.Tried, f.Runs, strings.ReplaceAll(string(f.Score), "-", " "))
}

func (f *Found) table() [][]string {
	header := []string{"settings", string(f.Score), "±", "above the rule", "±", "runs"}
	rows := [][]string{header}
	for _, r := range f.Rows {
		row := []string{r.String(), "–", "", "", "", fmt.Sprint(r.Runs)}
		if r.Score != nil {
			row[1], row[2] = fmt.Sprintf("%.4f", *r.Score), fmt.Sprintf("%.4f", *r.Error)
		}
		if r.Gain != nil {
			row[3], row[4] = fmt.Sprintf("%+.4f", *r.Gain), fmt.Sprintf("%.4f", *r.GainError)
		}
		if r.Failed != "" {
			row[1] = "failed"
		}
		rows = append(rows, row)
	}
	return rows
}

// paste returns the recommended settings in two forms, as flags and as TOML.
func (c Candidate) paste() string {
	if len(c.Settings) == 0 {
		return " The study has these settings already.\n"
	}
	flags := make([]string, len(c.Settings))
	tables := map[string][]string{}
	for i, s := range c.Settings {
		flags[i] = "--set " + s.String()
		table, line, _ := strings.Cut(strings.Replace(s.String(), "=", " = ", 1), ".")
		tables[table] = append(tables[table], line)
	}
	var b strings.Builder
	fmt.Fprintf(&b, " Try it:\n\n  %s\n\nor write into the study:\n", strings.Join(flags, " "))
	for _, table := range slices.Backward([]string{"inference", "privacy"}) {
		if lines := tables[table]; lines != nil {
			fmt.Fprintf(&b, "\n  [%s]\n  %s\n", table, strings.Join(lines, "\n  "))
		}
	}
	return b.String()
}

// Write prints the chosen settings.
func (s *Selection) Write(w io.Writer, c *Chosen) error {
	fmt.Fprintf(w, "%s: one of %d candidates, chosen by private records\n\n", s.base.Name, len(s.candidates))
	rows := [][]string{{"settings", "released score", "noise of the run"}}
	for k, candidate := range s.candidates {
		rows = append(rows, []string{candidate.String(), fmt.Sprintf("%+.4g", c.Result.Privacy.Promise.Selection.Totals[k]), fmt.Sprintf("%.4g", s.multiplier[k])})
	}
	if err := words.Table(w, "  ", 1, rows); err != nil {
		return err
	}
	noise := s.scores.Clip() * s.scores.NoiseMultiplier() * math.Sqrt(float64(len(s.protocols[0].Roster())))
	_, err := fmt.Fprintf(w, "\nScores are sums over records set aside; their noise has sd %.4g. Chosen: %s.\n\n", noise, s.candidates[c.Candidate])
	return err
}
