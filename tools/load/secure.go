package main

import (
	"context"
	"errors"

	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// With secure aggregation, a simple client sends deals, confirmations and shares with the right
// sizes and signatures, but with zeros in their bodies. It fetches its columns but does not decrypt
// them. For the time that a real client needs for its columns, see the benchmarks of package sums.

// prepare sends a client's keys. The body of this message contains only zeros.
func (s *script) prepare(ctx context.Context, p *light) error {
	body := make([]byte, s.federation.KeysSize())
	envelope, err := signed.Sign(p.identity, s.chain.Header(signed.Keys, 0, [32]byte{}), transcript.BodyOf(body).Append([]byte{1}))
	if err != nil {
		return err
	}
	return p.line.Submit(ctx, transport.Item{Envelope: envelope, Body: body})
}

// deal sends a client's answer to a plan.
func (s *script) deal(ctx context.Context, p *light, plan transcript.Entry) error {
	p.ledger++
	h := s.chain.Header(signed.Deal, plan.Ask, plan.Model)
	h.LedgerSeq, h.LedgerHead = p.ledger, [32]byte{byte(p.ledger)}
	body := make([]byte, s.federation.DealSize())
	salt := [32]byte{byte(plan.Ask)}
	payload := append(append(transcript.BodyOf(body).Append([]byte{1}), plan.Hash[:]...), salt[:]...)
	envelope, err := signed.Sign(p.identity, h, payload)
	if err != nil {
		return err
	}
	return p.line.Submit(ctx, transport.Item{Envelope: envelope, Body: body})
}

// step sends a client's message for a cut or a certificate. The coordinator refuses the message if
// enough others have sent theirs. This is not an error.
func (s *script) step(ctx context.Context, p *light, e transcript.Entry) error {
	err := s.send(ctx, p, e)
	var late *transport.Refusal
	if errors.As(err, &late) && (late.Reason == transport.OutOfPlace || late.Reason == transport.Ended) {
		return nil
	}
	return err
}

func (s *script) send(ctx context.Context, p *light, e transcript.Entry) error {
	switch e.Kind {
	case transcript.Cut:
		if _, err := p.line.Columns(ctx, e.Ask, s.columns(p)); err != nil {
			return err
		}
		envelope, err := signed.Sign(p.identity, s.chain.Header(signed.Confirm, e.Ask, e.Model), append([]byte{1}, e.Hash[:]...))
		if err != nil {
			return err
		}
		return p.line.Confirm(ctx, envelope)
	case transcript.Certificate:
		body := make([]byte, s.federation.ShareSize())
		payload := transcript.BodyOf(body).Append(append([]byte{1}, e.Hash[:]...))
		envelope, err := signed.Sign(p.identity, s.chain.Header(signed.Share, e.Ask, e.Model), payload)
		if err != nil {
			return err
		}
		return p.line.Submit(ctx, transport.Item{Envelope: envelope, Body: body})
	}
	return nil
}

// columns returns the size in bytes of the columns that a client receives, which are its parts of
// the deals in the current cut. The cut has the deals of all clients.
func (s *script) columns(p *light) int64 {
	holder := s.federation.Place(p.party.Name)
	size := 0
	for dealer := 1; dealer <= s.federation.Clients(); dealer++ {
		_, n := s.federation.Column(dealer, holder)
		size += n
	}
	return int64(size)
}

// share selects secure aggregation. Answers have length elements, and at least fewest clients must
// answer.
func (s *script) share(fewest, length int) error {
	f, err := sums.New(s.chain, fewest, length)
	if err != nil {
		return err
	}
	s.federation, s.progress = f, sums.NewProgress(f)
	return nil
}
