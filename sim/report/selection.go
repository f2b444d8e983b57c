package report

import (
	"fmt"

	"fedpvi/sim"
)

// selectionStatement returns a paragraph of the privacy statement, which says that the settings
// were chosen on the private records and that the cost includes this choice. It is empty if s is
// nil.
func selectionStatement(s *sim.Selection) string {
	if s == nil {
		return ""
	}
	return wrap(fmt.Sprintf("Its settings were chosen by the records: that was done for each of %d candidates, %s of a client in all, and once each client released how well they predict records that it had set aside, each record's scores clipped to norm %s, with noise of %s times that. The costs below are of all of it together.",
		len(s.Candidates), plural(s.Releases, "release"), number(s.ScoreClip), number(s.ScoreNoise)))
}
