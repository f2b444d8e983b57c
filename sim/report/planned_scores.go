package report

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/fit"
)

// plannedScores tells how precise the scores of held-out records will be, for the number of records
// that the study expects.
type plannedScores struct {
	Budget  float64 `json:"share_of_budget"`
	Records float64 `json:"records"` // expected number of held-out records
	Low     float64 `json:"clip_low"`
	High    float64 `json:"clip_high"`

	// Count and Mean are half-widths of 95 % intervals that cover only the privacy noise. Count is
	// for the number of held-out records. Mean is for the elpd per record when it is in the middle
	// of the range to which log densities are clipped.
	Count float64 `json:"count_width"`
	Mean  float64 `json:"mean_width"`
}

// newPlannedScores returns the expected precision, or nil if the study does not score held-out
// records.
func newPlannedScores(p *pvi.Protocol) *plannedScores {
	c := p.Study().Compare
	m, ok := p.Method().(interface {
		ScoresSD(n float64) (count, mean float64)
	})
	if c == nil || !ok {
		return nil
	}
	s := &plannedScores{Budget: c.Share, Low: c.Low, High: c.High}
	s.Records = c.HeldOut * float64(p.Study().Federation.NominalRecords*len(p.Roster()))
	count, mean := m.ScoresSD(s.Records)
	s.Count, s.Mean = fit.Normal95*count, fit.Normal95*mean
	return s
}

func (s *plannedScores) rows() [][]string {
	return [][]string{
		{"held-out records", fmt.Sprintf("%.0f %% of the budget for some %s records, log densities clipped to [%s, %s]", 100*s.Budget, number(s.Records), number(s.Low), number(s.High))},
		{"", fmt.Sprintf("95 %% intervals for the noise: the number of records ± %s, the elpd per record about ± %s", number(s.Count), number(s.Mean))},
	}
}
