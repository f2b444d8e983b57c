package report

import (
	"fmt"

	"fedpvi/pvi"
)

// plannedFetched is the part of the JSON of [PlanJSON] about releases that clients fetch
// separately, because they are too long for an outcome. The numbers are in bytes.
type plannedFetched struct {
	Round int `json:"round_down"` // bytes that each client downloads in a round to check the round's sum
	Kept  int `json:"kept"`       // kept by the coordinator for the whole study, in files and in the bundle
}

// newPlannedFetched returns the sizes of the releases that clients fetch, or nil if they fetch
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
