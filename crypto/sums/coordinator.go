package sums

import (
	"errors"
	"maps"
	"slices"

	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
)

// A Coordinator is the coordinator's state machine. It checks the clients' messages, so that a
// faulty client cannot stop a plan, and makes the bodies of the entries. The security of the sums
// does not depend on it, because the clients do their own checks.
//
// The state of a Coordinator is not saved. After a restart, the caller must call Follow for the
// entries since the last plan, and add the stored messages again. It is not safe for concurrent
// use.
type Coordinator struct {
	Progress
	keyed map[int]bool // places of the clients that have sent their keys

	// These are the accepted messages for the open plan, keyed by the client's place. A deal's salt
	// is a random number that makes the deal unique.
	deals         map[int]Hash // salts
	confirmations map[int]signature
	shares        map[int]share
}

// NewCoordinator returns a coordinator before the first plan.
func NewCoordinator(f *Federation) *Coordinator {
	c := &Coordinator{Progress: Progress{federation: f, own: true}, keyed: map[int]bool{}}
	c.reset()
	return c
}

func (c *Coordinator) reset() {
	c.deals, c.confirmations, c.shares = map[int]Hash{}, map[int]signature{}, map[int]share{}
}

// ErrLate is returned for a message that comes after its step is over and is no longer needed.
var ErrLate = errors.New("the message came too late: the step for which it was made is over")

// AddKeys verifies the envelope of a client's keys and records that the client has sent them. It
// returns the client's place, and the size and hash of the body. The caller must check the body.
func (c *Coordinator) AddKeys(envelope []byte) (place int, body transcript.Body, err error) {
	place, m, err := c.verify(envelope, c.federation.chain.Header(signed.Keys, 0, Hash{}))
	if err != nil {
		return 0, body, err
	}
	r := wire.NewReader(m.Payload)
	if r.Uint8() != version {
		r.Fail()
	}
	if body = transcript.ReadBody(r); !r.Done() || body.Size != uint64(c.federation.KeysSize()) {
		return 0, transcript.Body{}, refuse("the keys of client %s do not have %d bytes", c.federation.Name(place), c.federation.KeysSize())
	}
	c.keyed[place] = true
	return place, body, nil
}

// Keyed returns how many clients have sent their keys. The first plan must wait until there are
// enough to open a sum.
func (c *Coordinator) Keyed() int { return len(c.keyed) }

// A Received is a deal whose envelope was verified, without the body.
type Received struct {
	Place  int
	Header signed.Header
	Body   transcript.Body // size and hash of the body; the caller must check the body
	Salt   Hash
	Hash   Hash // SHA-256 of the envelope
}

// CheckDeal verifies the envelope of a deal for the open plan. It does not add the deal yet, so
// that the caller can first receive the body. After the cut, it returns ErrLate.
func (c *Coordinator) CheckDeal(envelope []byte) (Received, error) {
	r, err := c.VerifyDeal(envelope)
	if err != nil {
		return Received{}, err
	}
	name := c.federation.Name(r.Place)
	switch {
	case !c.keyed[r.Place]:
		return Received{}, refuse("client %s has dealt without having sent its keys", name)
	case c.step != Dealing:
		return Received{}, ErrLate
	}
	if known, ok := c.deals[r.Place]; ok && known != r.Salt {
		return Received{}, refuse("client %s has dealt twice for plan %d", name, c.ask)
	}
	return r, nil
}

// AddDeal adds a deal that CheckDeal has returned. Its body must have been stored.
func (c *Coordinator) AddDeal(r Received) error {
	if c.step != Dealing {
		return ErrLate
	}
	if known, ok := c.deals[r.Place]; ok && known != r.Salt {
		return refuse("client %s has dealt twice for plan %d", c.federation.Name(r.Place), c.ask)
	}
	c.deals[r.Place] = r.Salt
	return nil
}

// NextCut returns the body of the next entry, which is the cut with all deals that were added. If
// there are too few, or if the plan already has a cut, ok is false.
func (c *Coordinator) NextCut() (body []byte, ok bool) {
	if c.step != Dealing || len(c.deals) < c.federation.Fewest() {
		return nil, false
	}
	var cut []Dealt
	for _, place := range slices.Sorted(maps.Keys(c.deals)) {
		cut = append(cut, Dealt{place, c.deals[place]})
	}
	return cutBytes(cut), true
}

// AddConfirmation adds a client's confirmation of the cut. After the certificate, it returns
// ErrLate.
func (c *Coordinator) AddConfirmation(envelope []byte) (place int, err error) {
	place, m, err := c.verify(envelope, c.header(signed.Confirm))
	switch {
	case err != nil:
		return 0, err
	case m.Header.LedgerSeq != 0 || m.Header.LedgerHead != (Hash{}):
		return 0, refuse("the confirmation of client %s names its ledger", c.federation.Name(place))
	case c.step > Confirming:
		return place, ErrLate
	case c.step != Confirming || string(m.Payload) != string(confirmPayload(c.cutHash)):
		return 0, refuse("client %s has confirmed a different cut: its transcript differs", c.federation.Name(place))
	}
	c.confirmations[place] = signature{place, m.Signature}
	return place, nil
}

// NextCertificate returns the body of the next entry, which is the certificate with enough
// confirmations of the cut. If there are too few, or if the plan is not in the step Confirming, ok
// is false.
func (c *Coordinator) NextCertificate() (body []byte, ok bool) {
	if c.step != Confirming || len(c.confirmations) < c.federation.Fewest() {
		return nil, false
	}
	body = []byte{version}
	for _, place := range slices.Sorted(maps.Keys(c.confirmations))[:c.federation.Fewest()] {
		body = c.confirmations[place].append(body)
	}
	return body, true
}

// AddShare adds a client's share of the sum. After the opening, it returns ErrLate.
func (c *Coordinator) AddShare(envelope, words []byte) (place int, err error) {
	place, m, err := c.verify(envelope, c.header(signed.Share))
	if err != nil {
		return 0, err
	}
	name := c.federation.Name(place)
	switch {
	case m.Header.LedgerSeq != 0 || m.Header.LedgerHead != (Hash{}):
		return 0, refuse("the share of client %s names its ledger", name)
	case c.step > Sharing:
		return place, ErrLate
	case c.step != Sharing || len(words) != c.federation.ShareSize() || string(m.Payload) != string(sharePayload(c.certificate, words)):
		return 0, refuse("the share of client %s is for a different certificate, or does not match its body", name)
	}
	if !getWords(make([]uint64, len(words)/wordSize), words) {
		return 0, refuse("the share of client %s has a number beyond the field", name)
	}
	c.shares[place] = share{signature{place, m.Signature}, words}
	return place, nil
}

// ErrDisagree is returned if the shares do not belong to the same sum. The plan is then void.
var ErrDisagree = errors.New("the shares of the clients do not belong to one sum: a client is broken or dishonest")

// NextOpening returns the body of the next entry, which is the opening with enough shares to
// compute the sum. If there are too few, or if the plan is not in the step Sharing, ok is false. If
// there are more shares than needed and they contradict each other, the error is ErrDisagree.
func (c *Coordinator) NextOpening() (body []byte, ok bool, err error) {
	f := c.federation
	if c.step != Sharing || len(c.shares) < f.Fewest() {
		return nil, false, nil
	}
	var all []share
	for _, place := range slices.Sorted(maps.Keys(c.shares)) {
		all = append(all, c.shares[place])
	}
	if len(all) > f.Fewest() && !f.agree(all) {
		return nil, false, ErrDisagree
	}
	body = append(make([]byte, 0, f.OpeningSize()), version)
	for _, s := range all[:f.Fewest()] {
		body = append(s.append(body), s.words...)
	}
	return body, true, nil
}

// Missing returns the places of the clients whose message for the current step has not arrived. If
// no plan is open, it returns those whose keys have not arrived.
func (c *Coordinator) Missing() (places []int) {
	for place := 1; place <= c.federation.Clients(); place++ {
		var came bool
		switch c.step {
		case Idle:
			came = c.keyed[place]
		case Dealing:
			_, came = c.deals[place]
		case Confirming:
			_, came = c.confirmations[place]
		case Sharing:
			_, came = c.shares[place]
		default:
			return nil
		}
		if !came {
			places = append(places, place)
		}
	}
	return places
}

// Follow applies a plan, step or outcome that the coordinator has published.
func (c *Coordinator) Follow(e transcript.Entry, body []byte) error {
	err := c.Progress.Follow(e, body)
	if err == nil && (c.step == Idle || c.step == Dealing) {
		c.reset()
	}
	return err
}
