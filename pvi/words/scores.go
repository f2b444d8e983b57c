package words

import (
	"fmt"
	"io"

	"fedpvi/pvi/describe"
)

// ScoresTitle is the title of the scores of held-out records.
const ScoresTitle = "Held-out records, predicted"

// ScoreRows returns the scores of held-out records as table rows. A row has a name, an estimate,
// and a standard error, which may be empty.
func ScoreRows(s *describe.Scored) [][]string {
	perRecord := ""
	if s.MeanSE > 0 {
		perRecord = Number(s.MeanSE)
	}
	return [][]string{
		{"records", whole(s.Records), ""},
		{"elpd", fmt.Sprintf("%.1f [%.1f, %.1f]", s.ELPD.Estimate, s.ELPD.Low, s.ELPD.High), Number(s.ELPDSE)},
		{"elpd per record", decimal(s.Mean), perRecord},
		{"raised to " + Number(s.Low), percent(s.Below), ""},
		{"lowered to " + Number(s.High), percent(s.Above), ""},
	}
}

// Scores writes the scores of held-out records as text.
func Scores(w io.Writer, s *describe.Scored) error {
	fmt.Fprintf(w, "%s\n\n", ScoresTitle)
	if err := Table(w, "  ", 1, append([][]string{{"", "estimate", "se"}}, ScoreRows(s)...)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s", Wrap(ScoresNote(s)))
	return err
}

// ScoresNote returns sentences that explain the scores of held-out records.
func ScoresNote(s *describe.Scored) string {
	return fmt.Sprintf("elpd is the sum of the log predictive densities of the records that %s held out from the fit by lot, with probability %s; each density is clipped to [%s, %s]. In brackets: %.0f %% intervals for the privacy noise. A standard error also contains the sampling error, for a statement about other records. Larger is better. Compare with another study by sim compare.",
		Plural(s.Clients, "client"), Number(s.HeldOut), Number(s.Low), Number(s.High), 100*s.Level)
}
