package sums

import (
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums/field"
	"fedpvi/crypto/sums/packed"
	"fedpvi/crypto/transcript"
)

// A Step is the state of a plan.
type Step uint8

// These are the states of a plan, from the first to the last.
const (
	Idle       Step = iota // no plan is open
	Dealing                // the plan was published
	Confirming             // the cut was published
	Sharing                // the certificate was published
	Opened                 // the opening was published, but not yet the outcome
)

// Progress is the part of a party's state that everybody can compute from the transcript: the cut,
// the certificate and the opening of each plan. It is immutable, and the method follow returns a
// new one.
type Progress struct {
	federation *Federation
	own        bool // whether the caller has made the entries itself, from messages that it verified

	ask   uint64 // number of the open plan; 0 if none is open
	step  Step
	plan  Hash // SHA-256 of the plan's envelope
	model Hash // hash of λ in the plan's entry

	cut         []Dealt
	cutHash     Hash // SHA-256 of the cut's envelope
	certificate Hash // SHA-256 of the certificate's envelope
	sum         []int64
}

// NewProgress returns a study's progress before its first plan.
func NewProgress(f *Federation) *Progress { return &Progress{federation: f} }

// Ask returns the number of the open plan, or 0 if there is none.
func (p *Progress) Ask() uint64 { return p.ask }

// Step returns the state of the open plan, or Idle if there is none.
func (p *Progress) Step() Step { return p.step }

// Cut returns the deals in the open plan's cut. Before the cut, it returns nil.
func (p *Progress) Cut() []Dealt { return p.cut }

// Name returns the name of the client at a place.
func (p *Progress) Name(place int) identity.Name { return p.federation.Name(place) }

// Sum returns the opened sum of the open plan, and the clients whose vectors are in it. The plan's
// outcome must have the same. If there was no opening, ok is false, and the outcome must be void.
func (p *Progress) Sum() (clients []identity.Name, sum []int64, ok bool) {
	if p.step != Opened {
		return nil, nil, false
	}
	for _, d := range p.cut {
		clients = append(clients, p.federation.Name(d.Place))
	}
	return clients, p.sum, true
}

// Follow applies a transcript entry that was verified: a plan, a step or an outcome.
func (p *Progress) Follow(e transcript.Entry, body []byte) error {
	next, err := p.follow(e, body)
	if err == nil {
		*p = next
	}
	return err
}

func (p *Progress) follow(e transcript.Entry, body []byte) (Progress, error) {
	if e.Kind.Plan() {
		if p.step != Idle {
			return *p, refuse("plan %d comes before the outcome of plan %d", e.Ask, p.ask)
		}
		return Progress{federation: p.federation, own: p.own, ask: e.Ask, step: Dealing, plan: e.Hash, model: e.Model}, nil
	}
	if p.step == Idle || e.Ask != p.ask {
		return *p, refuse("an entry of kind %s is about plan %d, which is not open", e.Kind, e.Ask)
	}
	if e.Kind.Outcome() {
		return Progress{federation: p.federation, own: p.own}, nil
	}
	if e.Model != p.model {
		return *p, refuse("an entry of kind %s and its plan refer to different models", e.Kind)
	}
	return p.advance(e, body)
}

// advance returns the progress after a cut, certificate or opening, which must be the next step.
func (p *Progress) advance(e transcript.Entry, body []byte) (Progress, error) {
	next := *p
	next.step++
	var err error
	switch {
	case e.Kind == transcript.Cut && p.step == Dealing:
		next.cut, err = p.federation.parseCut(body)
		next.cutHash = e.Hash
	case e.Kind == transcript.Certificate && p.step == Confirming:
		err = p.checkCertificate(body)
		next.certificate = e.Hash
	case e.Kind == transcript.Opening && p.step == Sharing:
		next.sum, err = p.open(body)
	default:
		err = refuse("an entry of kind %s is out of place", e.Kind)
	}
	if err != nil {
		return *p, err
	}
	return next, nil
}

func (p *Progress) header(d identity.Domain) signed.Header {
	return p.federation.chain.Header(d, p.ask, p.model)
}

// verify verifies an envelope against want, and returns the client that has signed it.
func (p *Progress) verify(envelope []byte, want signed.Header) (int, signed.Message, error) {
	claims, err := signed.Claims(envelope)
	if err != nil {
		return 0, signed.Message{}, err
	}
	place := p.federation.sender(claims)
	if place == 0 {
		return 0, signed.Message{}, signed.ErrSender
	}
	m, err := signed.Verify(envelope, p.federation.key(place), want)
	return place, m, err
}

// VerifyDeal verifies the envelope of a deal for the open plan.
func (p *Progress) VerifyDeal(envelope []byte) (Received, error) {
	place, m, err := p.verify(envelope, p.header(signed.Deal))
	if err != nil {
		return Received{}, err
	}
	name := p.federation.Name(place)
	body, plan, salt, err := parseDeal(m.Payload)
	switch {
	case err != nil:
		return Received{}, err
	case plan != p.plan:
		return Received{}, refuse("client %s has dealt for a different plan with this number: its transcript differs", name)
	case body.Size != uint64(p.federation.DealSize()):
		return Received{}, refuse("the deal of client %s has %d bytes instead of %d", name, body.Size, p.federation.DealSize())
	}
	return Received{place, m.Header, body, salt, m.Hash}, nil
}

// checkCertificate returns an error unless body has confirmations of the cut from Fewest clients.
func (p *Progress) checkCertificate(body []byte) error {
	f := p.federation
	r, n := begin(body, signatureSize)
	if n != f.Fewest() {
		return refuse("a certificate has %d confirmations instead of %d", n, f.Fewest())
	}
	all, last := make([]signature, n), 0
	for i := range all {
		all[i] = f.readSignature(r, &last)
	}
	if err := done(r); err != nil {
		return err
	}
	header, payload := p.header(signed.Confirm), confirmPayload(p.cutHash)
	for _, s := range all {
		if err := p.check(s, header, payload); err != nil {
			return err
		}
	}
	return nil
}

// check is like [Federation.check]. If p.own says that the caller has verified all signatures, it
// does nothing.
func (p *Progress) check(s signature, h signed.Header, payload []byte) error {
	if p.own {
		return nil
	}
	return p.federation.check(s, h, payload)
}

// A share is a holder's sum of columns with its signature.
type share struct {
	signature
	words []byte
}

// open checks the shares of Fewest clients in an opening and computes the sum.
func (p *Progress) open(body []byte) ([]int64, error) {
	f := p.federation
	r, n := begin(body, signatureSize+f.ShareSize())
	if n != f.Fewest() {
		return nil, refuse("an opening has %d shares instead of %d", n, f.Fewest())
	}
	all, last := make([]share, n), 0
	for i := range all {
		all[i].signature = f.readSignature(r, &last)
		all[i].words = r.Take(f.ShareSize())
	}
	if err := done(r); err != nil {
		return nil, err
	}
	header := p.header(signed.Share)
	for _, s := range all {
		if err := p.check(s.signature, header, sharePayload(p.certificate, s.words)); err != nil {
			return nil, err
		}
	}
	return f.sum(all)
}

func places(all []share) []int {
	at := make([]int, len(all))
	for i, s := range all {
		at[i] = s.place
	}
	return at
}

// sum computes the sum of the clients' vectors from the shares.
func (f *Federation) sum(all []share) ([]int64, error) {
	sum := make([]int64, f.length)
	good := f.interpolate(f.scheme.Opening(places(all)), all, func(row, from int, words []uint64) {
		at := row*f.words + from
		for i := range words[:max(0, min(len(words), f.length-at))] {
			sum[at+i] = field.ToInteger(words[i])
		}
	})
	if !good {
		return nil, refuse("a share has a number beyond the field")
	}
	return sum, nil
}

// agree reports whether all shares lie on the polynomials that the first Fewest shares determine.
func (f *Federation) agree(all []share) bool {
	at, n := places(all), f.Fewest()
	same := true
	other := make([]uint64, packed.Block)
	good := f.interpolate(f.scheme.Agreeing(at[:n], at[n:]), all[:n], func(row, from int, words []uint64) {
		x := other[:len(words)]
		same = getWords(x, all[n+row].words[from*wordSize:]) && slices.Equal(x, words) && same
	})
	return good && same
}

// interpolate multiplies the matrix m by the words of the shares, block by block. It passes each
// result to take: the number of the row, the number of its first word, and its words. If a word is
// not a field element, it returns false.
func (f *Federation) interpolate(m packed.Matrix, all []share, take func(row, from int, words []uint64)) bool {
	good := true
	in, out := newBlocks(len(all)), newBlocks(len(m))
	for from := 0; from < f.words; from += packed.Block {
		n := min(packed.Block, f.words-from)
		for i, x := range in.cut(n) {
			good = getWords(x, all[i].words[from*wordSize:]) && good
		}
		if !good {
			return false
		}
		m.Apply(out.cut(n), in.cut(n))
		for row, x := range out.cut(n) {
			take(row, from, x)
		}
	}
	return true
}
