package words

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"fedpvi/pvi/describe"
)

// mostGroups is the largest number of groups that a table shows side by side.
const mostGroups = 4

// A TableRow is a row of the tables that describe the records.
type TableRow struct {
	Name string          // name of the column, or "" if it is the same as in the previous row
	What string          // level or bin, or "mean", "sd" or "quartiles"
	Of   []string        // estimate and interval of each group
	Bar  *describe.Value // share of all records that have this level or are in this bin, for a bar chart; nil in other rows
}

// TableHead returns the headings and the number of the groups that the tables show. The first group
// is all records. If there are more than mostGroups other groups, the tables show only all records.
func TableHead(s *describe.Summary) (names []string, groups int) {
	if groups = len(s.Groups); groups > mostGroups+1 {
		groups = 1
	}
	names = append(names, "all")
	for _, g := range s.Groups[1:groups] {
		names = append(names, s.By+" "+g.Name)
	}
	return names, groups
}

// TableRows returns the rows of the table.
func TableRows(s *describe.Summary) (rows []TableRow) {
	_, groups := TableHead(s)
	of := func(value func(g int) string) (cells []string) {
		for g := range groups {
			cells = append(cells, value(g))
		}
		return cells
	}
	rows = append(rows, TableRow{Name: "records", Of: of(func(g int) string { return whole(s.Groups[g].Records) })})
	for _, c := range s.Columns {
		name := c.Name
		if c.Unit != "" {
			name += " (" + c.Unit + ")"
		}
		add := func(row TableRow) {
			row.Name, name = name, ""
			rows = append(rows, row)
		}
		if c.Parts[0].Mean != nil {
			add(TableRow{What: "mean", Of: of(func(g int) string { return decimal(*c.Parts[g].Mean) })})
			add(TableRow{What: "sd", Of: of(func(g int) string { return decimal(*c.Parts[g].SD) })})
			for q, what := range []string{"first quartile", "median", "third quartile"} {
				add(TableRow{What: what, Of: of(func(g int) string { return decimal(c.Parts[g].Quartiles[q]) })})
			}
		}
		for i, label := range c.Labels {
			add(TableRow{What: label, Of: of(func(g int) string { return percent(c.Parts[g].Shares[i]) }), Bar: &c.Parts[0].Shares[i]})
		}
	}
	return rows
}

// Tables writes the tables that describe the records as text.
func Tables(w io.Writer, s *describe.Summary) error {
	fmt.Fprintf(w, "Records of %s, described\n\n", Plural(s.Clients, "client"))
	names, groups := TableHead(s)
	rows := [][]string{append([]string{"", ""}, names...)}
	for _, r := range TableRows(s) {
		rows = append(rows, append([]string{r.Name, r.What}, r.Of...))
	}
	if err := Table(w, "  ", 2, rows); err != nil {
		return err
	}
	note := TablesNote(s)
	if groups < len(s.Groups) {
		note += fmt.Sprintf(" The %d levels of %s are in the CSV.", len(s.Groups)-1, s.By)
	}
	_, err := fmt.Fprintf(w, "\n%s", Wrap(note))
	return err
}

// TablesNote returns sentences that explain the numbers in the tables.
func TablesNote(s *describe.Summary) string {
	return fmt.Sprintf("In brackets: %.0f %% intervals for the privacy noise, each by itself. They are about these records, not about people who are not among them. A released count has noise of sd %s. Intervals of quartiles also contain the error due to bins. An interval without an estimate means that the noise allows none.",
		100*s.Level, Number(s.NoiseSD))
}

// TablesCSV writes the tables that describe the records as CSV, one row per number. The estimate is
// empty if there is only an interval.
func TablesCSV(w io.Writer, s *describe.Summary) error {
	rows := [][]string{{"column", "group", "what", "level", "estimate", "low", "high", "unit"}}
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	add := func(column, group, what, level, unit string, v describe.Value) {
		estimate := exact(v.Estimate)
		if v.IntervalOnly {
			estimate = ""
		}
		rows = append(rows, []string{column, group, what, level, estimate, exact(v.Low), exact(v.High), unit})
	}
	for _, g := range s.Groups {
		add("", g.Name, "records", "", "", g.Records)
	}
	for _, c := range s.Columns {
		for g, p := range c.Parts {
			group := s.Groups[g].Name
			if p.Mean != nil {
				add(c.Name, group, "mean", "", c.Unit, *p.Mean)
				add(c.Name, group, "sd", "", c.Unit, *p.SD)
			}
			for q, v := range p.Quartiles {
				add(c.Name, group, fmt.Sprintf("quartile %d", q+1), "", c.Unit, v)
			}
			for i, label := range c.Labels {
				add(c.Name, group, "count", label, "", p.Counts[i])
				add(c.Name, group, "share", label, "", p.Shares[i])
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func whole(v describe.Value) string {
	return fmt.Sprintf("%.0f [%.0f, %.0f]", v.Estimate, v.Low, v.High)
}

func percent(v describe.Value) string {
	if v.IntervalOnly {
		return fmt.Sprintf("[%.1f, %.1f] %%", 100*v.Low, 100*v.High)
	}
	return fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*v.Estimate, 100*v.Low, 100*v.High)
}

// decimal formats a value and its interval. The last digit is worth between a tenth and a hundredth
// of the width of the interval, and there are at most 6 decimals.
func decimal(v describe.Value) string {
	digits := 2
	if width := v.High - v.Low; width > 0 {
		digits = min(max(1-int(math.Floor(math.Log10(width))), 0), 6)
	}
	interval := fmt.Sprintf("[%.*f, %.*f]", digits, v.Low, digits, v.High)
	if v.IntervalOnly {
		return interval
	}
	return fmt.Sprintf("%.*f %s", digits, v.Estimate, interval)
}
