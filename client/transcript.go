package client

import (
	"fmt"
	"io"

	"fedpvi/coordinator/bundle"
	"fedpvi/crypto/transcript"
)

func entryPart(number uint64) string { return fmt.Sprintf("entry %d", number) }

// A Head identifies the last transcript entry that a client has followed. If two clients have the
// same head, they have seen the same history.
type Head struct {
	Study string `json:"study"`
	Entry uint64 `json:"entry"` // number of the entry; 0 before the study begins
	Head  string `json:"head"`  // SHA-256 of the envelope of this entry
}

// Head returns the number and hash of the last entry that this client has followed.
func (c *Client) Head(m *Member) (Head, error) {
	h := Head{Study: m.Study.Name}
	at, begun, err := c.position(m.Hash)
	if err != nil || !begun {
		return h, err
	}
	h.Entry, h.Head = at.Number, fmt.Sprintf("%x", at.Head)
	return h, err
}

// Export returns the transcript envelopes that this client has followed. If the study began under
// an early version of the program, the first ones are missing.
func (c *Client) Export(m *Member) (*transcript.Export, error) {
	head, err := c.Head(m)
	if err != nil {
		return nil, err
	}
	x := &transcript.Export{Study: m.Hash.String(), Client: m.Name, Coordinator: m.Entry, Renewals: m.Renewals}
	if head.Entry > 0 {
		first, err := c.roster(m)
		if err != nil {
			return nil, err
		}
		if first == nil {
			return nil, c.damaged("the part " + rosterPart + " of a study is missing")
		}
		hub := first.Coordinator()
		x.Coordinator = hub.Bytes()
		if _, x.Renewals, err = m.coordinatorOf(hub.Key.Fingerprint()); err != nil {
			return nil, err
		}
	}
	for n := uint64(1); n <= head.Entry; n++ {
		envelope, ok, err := c.store.Part(m.Hash, entryPart(n))
		if err != nil {
			return nil, err
		}
		if ok {
			x.Envelopes = append(x.Envelopes, envelope)
		}
	}
	return x, nil
}

// VerifyBundle checks a coordinator's bundle against the transcript that this client has followed,
// and returns how many entries they have in common. If they contradict each other, the error is a
// [transcript.Fork]. If the bundle is from another study or coordinator, it is a [UsageError].
func (c *Client) VerifyBundle(m *Member, open func() (io.ReadCloser, error)) (common int, err error) {
	own, coordinator, err := c.entries(m)
	if err != nil {
		return 0, err
	}
	entries, err := bundle.Entries(open)
	if err != nil {
		return 0, err
	}
	if entries.Study != m.Hash || entries.Coordinator != coordinator {
		return 0, &UsageError{fmt.Errorf("the bundle is of another study or coordinator than %s", m.Study.Name)}
	}
	return transcript.Compare(own, entries.All)
}
