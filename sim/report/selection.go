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
	return wrap(fmt.Sprintf("Private records chose the settings of this run. Each of %d candidates ran in this way, with %s of a client in all. Each client then released once how well the candidates predict records that it had set aside. The scores of each record were clipped to norm %s, with noise of %s times that. The costs below include all of this.",
		len(s.Candidates), plural(s.Releases, "release"), number(s.ScoreClip), number(s.ScoreNoise)))
}
