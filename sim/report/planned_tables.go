package report

import (
	"fmt"
	"math"

	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/study"
)

// plannedTables tells how wide the 95 % intervals in the tables of the records will be, for the
// number of records that the study expects. All widths are half-widths.
type plannedTables struct {
	Budget  float64 `json:"share_of_budget"`
	NoiseSD float64 `json:"noise_sd"` // sd of the noise of a released count
	// for the number of records in a single group
	Count float64 `json:"count_width"`
	// for the number of records in all groups together
	All float64 `json:"count_of_all_width"`
	// for a share of all records, between 0 and 1
	Share float64 `json:"share_width"`
	// for the mean of a numeric column, by name, in the column's unit
	Means map[string]float64 `json:"mean_widths"`
}

// newPlannedTables returns the expected widths, or nil if the study has no tables.
func newPlannedTables(p *pvi.Protocol) *plannedTables {
	d := p.Study().Describe
	m, ok := p.Method().(interface{ TablesSD() float64 })
	if d == nil || !ok {
		return nil
	}
	sd := m.TablesSD()
	groups := 1.0
	if d.By >= 0 {
		groups = float64(len(p.Study().Columns[d.By].Levels))
	}
	records := float64(p.Study().Federation.NominalRecords * len(p.Roster()))
	t := &plannedTables{Budget: d.Share, NoiseSD: sd, Count: fit.Normal95 * sd, Means: map[string]float64{}}
	t.All = t.Count * math.Sqrt(groups)
	t.Share = t.All / records
	for _, i := range d.Columns {
		if c := p.Study().Columns[i]; c.Type == study.Numeric {
			t.Means[c.Name] = math.Sqrt2 * t.Share * (c.High - c.Low) / 2
		}
	}
	return t
}

func (t *plannedTables) rows() [][]string {
	return [][]string{
		{"tables of the records", fmt.Sprintf("%.0f %% of the budget; 95 %% intervals: a count ± %s (of all groups together ± %s)", 100*t.Budget, number(t.Count), number(t.All))},
		{"", fmt.Sprintf("a share of all records ± %s points, a mean about ± %s of half its bounds, quartiles a bin or wider", number(100*t.Share), number(math.Sqrt2*t.Share))},
	}
}
