package client

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"fedpvi/crypto/transcript"
	"fedpvi/internal/audit"
	"fedpvi/pvi/session"
)

// An Ending has the result of a study or, if the study was aborted, the reason.
type Ending struct {
	Aborted bool   `json:"aborted"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Result  []byte `json:"result,omitempty"` // the posterior as JSON
}

// end checks the last entry of the transcript and returns the client's own result. The
// coordinator's λ must be the same, and the ledger must have all entries that are listed in this
// client's receipts.
func (a *participant) end(body []byte) (*Ending, error) {
	closing, err := transcript.ParseClosing(body)
	if err != nil {
		return nil, err
	}
	if a.site == nil || !a.site.Done() {
		return nil, &Refusal{"the coordinator ends the study before its last plan"}
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
		// Receipts are not signed by clients. If one is forged, the client must not conclude that
		// its own state is an old copy.
		if r.Client == a.member.Name && !a.client.store.Contains(r.LedgerSeq, r.LedgerHead) {
			return nil, &Refusal{fmt.Sprintf("the receipt for plan %d names entry %d of the ledger, which this ledger does not contain", r.Ask, r.LedgerSeq)}
		}
	}
	return &Ending{Result: own}, nil
}

// sameNumbers checks that the published result has the same protocol and λ as the client's own. λ
// is the same on every machine. Numbers that are computed from λ may be rounded differently, so
// they are not compared, and the data holder gets the client's own.
func sameNumbers(own *session.Result, stated []byte) error {
	var said struct {
		Protocol string    `json:"protocol"`
		Natural  []float64 `json:"natural"`
	}
	if err := json.Unmarshal(stated, &said); err != nil || said.Protocol != own.Protocol || !slices.Equal(said.Natural, own.Natural) {
		return &Refusal{"the coordinator's posterior does not follow from the outcomes"}
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

// excluded processes an entry that excludes a client. If it is this client, it returns a Refusal.
func (a *participant) excluded(body []byte) error {
	x, err := transcript.ParseAbortion(body)
	switch {
	case err != nil:
		return err
	case a.site == nil:
		return transcript.ErrKind
	case x.By == a.member.Name:
		return &Refusal{"the coordinator has excluded this client from the rest of the study: " + x.Reason}
	}
	a.client.log.Warn("the coordinator has excluded a client from the rest of the study", "client", x.By, "reason", x.Reason)
	a.client.note(a.member, audit.Exclusion, slog.LevelWarn, slog.String("client", string(x.By)), slog.String("reason", x.Reason))
	a.site.Resume()
	return nil
}
