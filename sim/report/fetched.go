package report

import (
	"fmt"

	"fedpvi/pvi"
)

// plannedFetched is the part of [PlanJSON]'s output about releases that are too long for an
// outcome, so that clients fetch them separately. The numbers are in bytes.
type plannedFetched struct {
	Round int `json:"round_down"` // bytes that each client downloads in every round to check its sum
	Kept  int `json:"kept"`       // bytes that the coordinator keeps for the whole study, in files and in the bundle
}

// newPlannedFetched returns the sizes of the releases that clients fetch, or nil if clients fetch
// none.
func newPlannedFetched(p *pvi.Protocol) *plannedFetched {
	if !p.Fetched() {
		return nil
	}
	round := len(p.Roster()) * p.MessageSize() * wordSize
	return &plannedFetched{round, round * p.Plans()}
}

func (f *plannedFetched) rows(clients int) [][]string {
	return [][]string{{"checked", fmt.Sprintf("by every client, which downloads the releases of all %d clients: %s a round. The coordinator keeps %s", clients, size(f.Round), size(f.Kept))}}
}
