package sums

import (
	"crypto/rand"
	"fmt"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums/packed"
	"fedpvi/crypto/transcript"
)

// A Client is one client's state machine. If a call returns messages, the caller must write them
// and the new state to disk in one transaction before it sends them. To send a message again, the
// caller reads it from disk. It must not ask the Client for it again.
//
// A Client has keys, which formatting verbs do not show. It is not safe for concurrent use.
type Client struct {
	Progress
	place int
	to    []key // keys that this client has drawn for the others; index p − 1 has the key for place p
	// keys that the others have drawn for this client; index p − 1 has the key from place p, or
	// zero if it is unknown
	from   []key
	keyed  bool // whether Keys has been called
	matrix packed.Matrix

	// The following fields belong to the open plan.
	dealt     bool
	salt      Hash     // salt of this client's deal
	own       []uint64 // this client's column of its own deal; Deal sets it for Gather
	gathered  []uint64 // sum of the columns of the cut; nil before Gather, and after Share
	confirmed bool
	shared    bool
}

// NewClient returns the state of the client with the given name before the first plan. The client
// has new keys.
func NewClient(f *Federation, name identity.Name) (*Client, error) {
	c := &Client{Progress: Progress{federation: f}, place: f.Place(name)}
	if c.place == 0 {
		return nil, fmt.Errorf("client %s is not in the roster", name)
	}
	c.to, c.from = make([]key, f.Clients()), make([]key, f.Clients())
	for j := range c.to {
		c.to[j] = newKey()
	}
	c.from[c.place-1] = c.to[c.place-1]
	return c, nil
}

// PlaceOf returns the place of a client, or 0 if no client has that name.
func (c *Client) PlaceOf(name identity.Name) int { return c.federation.Place(name) }

// ColumnsSize returns how many bytes this client must fetch for the cut. They are its parts of all
// deals. A part is a column, or just a tag if the client computes the column from a key.
func (c *Client) ColumnsSize() int { return c.federation.ColumnsSize(c.cut, c.place) }

// Format prints the client's place for every verb.
func (c *Client) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "client %d of secure sums", c.place) }

// Keyed reports whether Keys has been called.
func (c *Client) Keyed() bool { return c.keyed }

// Keys returns the message with the client's keys for the other clients. It may be called only
// once.
func (c *Client) Keys(signer *identity.Identity) (envelope, body []byte, err error) {
	if c.keyed {
		return nil, nil, refuse("the keys were already sealed")
	}
	f := c.federation
	for j := 1; j <= f.Clients(); j++ {
		if j == c.place {
			continue
		}
		sealed, err := f.sealKey(signer, c.place, j, c.to[j-1])
		if err != nil {
			return nil, nil, err
		}
		body = append(body, sealed...)
	}
	payload := transcript.BodyOf(body).Append([]byte{version})
	if envelope, err = signed.Sign(signer, f.chain.Header(signed.Keys, 0, Hash{}), payload); err != nil {
		return nil, nil, err
	}
	c.keyed = true
	return envelope, body, nil
}

// Unknown returns the dealers in the cut whose keys this client does not have yet.
func (c *Client) Unknown() (dealers []int) {
	for _, d := range c.cut {
		if c.from[d.Place-1] == (key{}) {
			dealers = append(dealers, d.Place)
		}
	}
	return dealers
}

// Learn decrypts and stores the key that a dealer has drawn for this client. sealed is this
// client's part of the dealer's message (see [Federation.Keys]). If it is not from the dealer, the
// error is [Unopened]. If another key is already stored, the error is [Refused].
func (c *Client) Learn(opener *seal.Key, dealer int, sealed []byte) error {
	if dealer < 1 || dealer > len(c.from) || dealer == c.place {
		return refuse("keys from place %d", dealer)
	}
	k, err := c.federation.openKey(opener, dealer, c.place, sealed)
	if err != nil {
		return &Unopened{c.federation.Name(dealer)}
	}
	if known := c.from[dealer-1]; known != (key{}) && known != k {
		return refuse("client %s has drawn two keys for this client", c.federation.Name(dealer))
	}
	c.from[dealer-1] = k
	return nil
}

// A Deal is a client's answer to a plan. It has not been signed yet.
type Deal struct {
	payload, body []byte
	header        signed.Header
}

// Deal returns the client's answer to the open plan. It may be called once for each plan. The
// vector must already have noise. It has at most as many elements as the federation's vectors, and
// their absolute values are at most MaxElement. The caller must write the charge for the answer in
// the same transaction as the deal.
func (c *Client) Deal(vector []int64) (*Deal, error) {
	f := c.federation
	switch {
	case !c.keyed:
		return nil, refuse("the keys must be sent before the first deal")
	case c.step != Dealing:
		return nil, refuse("no plan waits for deals")
	case c.dealt:
		return nil, refuse("this client has already dealt for plan %d", c.ask)
	case len(vector) > f.length:
		return nil, refuse("the vector has %d elements, more than the limit of %d", len(vector), f.length)
	}
	for _, v := range vector {
		if v > MaxElement || v < -MaxElement {
			return nil, refuse("an element of the vector is outside ±(2⁶⁰ − 1)")
		}
	}
	if c.matrix == nil {
		c.matrix = f.scheme.Dealing(c.place)
	}
	rand.Read(c.salt[:])
	c.dealt = true
	var body []byte
	body, c.own = f.deal(dealing{c.plan, c.place, c.salt}, c.matrix, c.to, vector)
	return &Deal{dealPayload(transcript.BodyOf(body), c.plan, c.salt), body, c.header(signed.Deal)}, nil
}

// Sign returns the envelope and body of a deal. ledgerSeq and ledgerHead are the number and hash of
// the last entry in the client's ledger, once the deal is charged.
func (d *Deal) Sign(signer *identity.Identity, ledgerSeq uint64, ledgerHead Hash) (envelope, body []byte, err error) {
	d.header.LedgerSeq, d.header.LedgerHead = ledgerSeq, ledgerHead
	envelope, err = signed.Sign(signer, d.header, d.payload)
	return envelope, d.body, err
}

// Follow applies a transcript entry that was verified: a plan, a step or an outcome.
func (c *Client) Follow(e transcript.Entry, body []byte) error {
	if err := c.Progress.Follow(e, body); err != nil {
		return err
	}
	if c.step == Idle || c.step == Dealing {
		c.dealt, c.salt, c.own, c.gathered, c.confirmed, c.shared = false, Hash{}, nil, nil, false, false
	}
	return nil
}

// Wants reports whether the client must gather its columns before it can go on to confirm or share.
func (c *Client) Wants() bool {
	return c.gathered == nil && (c.step == Confirming && !c.confirmed || c.step == Sharing && !c.shared)
}

// CanConfirm reports whether the client can confirm the cut. It must have gathered its columns.
func (c *Client) CanConfirm() bool {
	return c.step == Confirming && !c.confirmed && c.gathered != nil
}

// CanShare reports whether the client can make its share of the certified cut. It must have
// gathered its columns.
func (c *Client) CanShare() bool { return c.step == Sharing && !c.shared && c.gathered != nil }

// Said reports whether the client has already confirmed or shared in the current step.
func (c *Client) Said() bool {
	return c.step == Confirming && c.confirmed || c.step == Sharing && c.shared
}

// LeftOut reports whether this client's deal for the open plan is not in the cut, for example
// because it came too late.
func (c *Client) LeftOut() bool {
	return c.dealt && c.step >= Confirming && !slices.ContainsFunc(c.cut, func(d Dealt) bool { return d.Place == c.place })
}

// Gather decrypts this client's parts of all deals in the cut, and adds them up. pieces has these
// parts in the order of the cut (see [Federation.Column]). Gather overwrites it. If a part cannot
// be decrypted, Gather returns [Unopened] for the first such part, and the client must not confirm
// the cut.
func (c *Client) Gather(pieces []byte) error {
	f := c.federation
	if !c.Wants() {
		return refuse("no cut waits for columns")
	}
	if err := c.ownDeal(); err != nil {
		return err
	}
	if want := c.ColumnsSize(); len(pieces) != want {
		return refuse("the columns of the cut have %d bytes instead of %d", len(pieces), want)
	}
	sum, err := f.gather(c.place, c.own, c.from, c.plan, c.cut, pieces)
	if err != nil {
		return err
	}
	c.gathered, c.own = sum, nil
	return nil
}

// ownDeal returns an error if the cut has a deal under this client's name that this client has not
// made.
func (c *Client) ownDeal() error {
	for _, d := range c.cut {
		if d.Place == c.place && (!c.dealt || d.Salt != c.salt) {
			return refuse("the cut has a deal of this client that it has not made")
		}
	}
	return nil
}

// Confirm returns the client's confirmation of the cut. It may be called once for each plan, after
// the client has gathered its columns.
func (c *Client) Confirm(signer *identity.Identity) (envelope []byte, err error) {
	if !c.CanConfirm() {
		return nil, refuse("no cut waits for this client's confirmation")
	}
	envelope, err = signed.Sign(signer, c.header(signed.Confirm), confirmPayload(c.cutHash))
	c.confirmed = err == nil
	return envelope, err
}

// Share returns the client's share of the sum over the certified cut. It may be called once for
// each plan, after the client has gathered its columns.
func (c *Client) Share(signer *identity.Identity) (envelope, body []byte, err error) {
	if !c.CanShare() {
		return nil, nil, refuse("no certificate waits for this client's share")
	}
	body = make([]byte, c.federation.ShareSize())
	putWords(body, c.gathered)
	if envelope, err = signed.Sign(signer, c.header(signed.Share), sharePayload(c.certificate, body)); err != nil {
		return nil, nil, err
	}
	c.shared, c.gathered = true, nil
	return envelope, body, nil
}
