package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fedpvi/crypto/transcript"
	"fedpvi/pvi/session"
)

// An Ending is how a study ended.
type Ending struct {
	Aborted bool   `json:"aborted"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Result  []byte `json:"result,omitempty"` // the posterior, JSON
}

// end compares what the coordinator says came out with what this client computed, and the
// receipts with the ledger.
func (a *participant) end(body []byte) (*Ending, error) {
	closing, err := transcript.ParseClosing(body)
	if err != nil {
		return nil, err
	}
	if a.site == nil || !a.site.Done() {
		return nil, &Refusal{"the coordinator ends the study before its last question"}
	}
	result, err := a.site.Result()
	if err != nil {
		return nil, err
	}
	own, err := result.Bytes()
	if err != nil {
		return nil, err
	}
	if err := sameNumbers(result, closing.Result); err != nil {
		return nil, err
	}
	for _, r := range closing.Receipts {
		// The coordinator's word alone: it must not have this client believe that its state
		// is an old one.
		if r.Client == a.member.Name && !a.client.store.Contains(r.LedgerSeq, r.LedgerHead) {
			return nil, &Refusal{fmt.Sprintf("the receipt for question %d names entry %d of the ledger, which is not on this one", r.Ask, r.LedgerSeq)}
		}
	}
	return &Ending{Result: own}, nil
}

// sameNumbers compares λ, which is exact on every machine. What follows from it, such as
// standard deviations, may be rounded otherwise on another kind of processor: the holder
// gets what was computed here.
func sameNumbers(own *session.Result, stated []byte) error {
	var said struct {
		Protocol string    `json:"protocol"`
		Natural  []float64 `json:"natural"`
	}
	if err := json.Unmarshal(stated, &said); err != nil || said.Protocol != own.Protocol || !slices.Equal(said.Natural, own.Natural) {
		return &Refusal{"the posterior that the coordinator states does not follow from the outcomes"}
	}
	return nil
}

func aborted(body []byte) (*Ending, error) {
	abortion, err := transcript.ParseAbortion(body)
	if err != nil {
		return nil, err
	}
	return &Ending{Aborted: true, By: string(abortion.By), Reason: strings.TrimSpace(abortion.Reason)}, nil
}
