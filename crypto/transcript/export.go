package transcript

import (
	"errors"
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
)

// An Export is a client's copy of a transcript's envelopes, which the coordinator has signed. If
// two exports have different envelopes with the same number, this is evidence against the
// coordinator.
type Export struct {
	Study       string        `json:"study"` // SHA-256 of the study document, in hexadecimal
	Client      identity.Name `json:"client"`
	Coordinator []byte        `json:"coordinator"`        // the coordinator's entry in the first roster
	Renewals    [][]byte      `json:"renewals,omitempty"` // renewals of Coordinator, in order
	// envelopes in the order of their entries, from the first one that the client has kept
	Envelopes [][]byte `json:"envelopes"`
}

// Entries returns the entries, after it has checked all signatures and the links between the
// entries. The export must be from the given study and coordinator.
func (x *Export) Entries(study Hash, coordinator identity.Fingerprint) ([]Entry, error) {
	hub, err := roster.ParseEntry(x.Coordinator, study)
	if err != nil {
		return nil, fmt.Errorf("the coordinator's entry: %w", err)
	}
	if hub.Key.Fingerprint() != coordinator || hub.Role != identity.Coordinator {
		return nil, errors.New("it belongs to another coordinator")
	}
	renewals := x.Renewals
	entries := make([]Entry, 0, len(x.Envelopes))
	for _, envelope := range x.Envelopes {
		e, err := verified(envelope, study, hub.Key)
		for len(renewals) > 0 && errors.Is(err, signed.ErrSender) { // the envelope was signed with a later identity
			if hub, err = roster.Latest(study, hub, renewals[:1]); err != nil {
				return nil, fmt.Errorf("the coordinator's new keys: %w", err)
			}
			renewals = renewals[1:]
			e, err = verified(envelope, study, hub.Key)
		}
		if err != nil {
			return nil, fmt.Errorf("envelope %d: %w", len(entries)+1, err)
		}
		if n := len(entries); n > 0 && (e.Number != entries[n-1].Number+1 || e.Previous != entries[n-1].Hash) {
			return nil, fmt.Errorf("envelope %d: %w", n+1, ErrOrder)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// verified returns the entry in an envelope that the coordinator must have signed for this study.
func verified(envelope []byte, study Hash, coordinator identity.PublicKey) (Entry, error) {
	claims, err := signed.Claims(envelope)
	if err != nil {
		return Entry{}, err
	}
	if claims.Study != study {
		return Entry{}, signed.ErrStudy
	}
	m, err := signed.Verify(envelope, coordinator, claims)
	if err != nil {
		return Entry{}, err
	}
	e, err := parsePayload(m.Payload)
	if err == nil && e.Kind.domain() != m.Header.Domain {
		err = ErrForm
	}
	e.Ask, e.Model, e.Hash = m.Header.Round, m.Header.Model, m.Hash
	return e, err
}

// A Fork is the error for two contradicting copies of a transcript. It has the first pair of
// different entries with the same number, both signed by the coordinator.
type Fork struct{ One, Other Entry }

func (f *Fork) Error() string {
	plan := ""
	if f.One.Ask > 0 {
		plan = fmt.Sprintf(", of plan %d", f.One.Ask)
	}
	return fmt.Sprintf("the coordinator has signed two entries with the number %d (%s%s): it has shown two histories of the study from there on", f.One.Number, f.One.Kind, plan)
}

// Compare returns how many entries two copies of a transcript have in common. If they have
// different entries with the same number, the error is a [*Fork].
func Compare(one, other []Entry) (common int, err error) {
	byNumber := map[uint64]Entry{}
	for _, e := range one {
		byNumber[e.Number] = e
	}
	for _, e := range other {
		mine, ok := byNumber[e.Number]
		if !ok {
			continue
		}
		if mine.Hash != e.Hash {
			return common, &Fork{mine, e}
		}
		common++
	}
	return common, nil
}
