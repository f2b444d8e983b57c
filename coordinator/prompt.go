package coordinator

import (
	"context"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
)

// A prompt is an answer whose body came with its offer. The goroutine of the client's call decrypts
// it, so that many answers can be decrypted in parallel, even while the disk is busy. The study's
// loop then adds it to the sum.
type prompt struct {
	written
	envelope []byte
	model    Hash // model hash of the plan that the client answers
}

// prompt returns an answer whose body came with its envelope. It returns nil if the plan is not
// open, or if the size or the signature is wrong. The loop will then refuse the envelope with the
// reason.
func (s *Study) prompt(peer channel.Party, h signed.Header, envelope, whole []byte) *prompt {
	v := s.shown.Load()
	model, open := v.open[h.Round]
	m, known := v.members[peer.Name]
	if !open || !known || !s.knows(peer) || uint64(len(whole)) != s.opener.sealed(h) {
		return nil
	}
	r, err := v.chain.VerifyRelease(envelope, m.key, h.Round, model)
	if err != nil || r.Body.Size != uint64(len(whole)) {
		return nil
	}
	key := store.ReleaseKey{Ask: h.Round, Client: string(peer.Name)}
	return &prompt{written{key: key, release: r, whole: whole}, envelope, model}
}

// takePrompt decrypts an answer and passes it to the loop. It returns how many bytes of the body
// the coordinator now has.
func (s *Study) takePrompt(ctx context.Context, peer channel.Party, p *prompt) (have int64, err error) {
	release, err := s.opener.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	opened, fault, err := s.opened(&p.written)
	if err != nil {
		return 0, err
	}
	err = s.asClient(ctx, peer, func(b *batch, c *client) (err error) {
		defer release()                 // another answer can be decrypted while this answer is written to disk
		var checked *transcript.Release // verified against the model hash of the plan that was open at that time
		if q := b.state.open[p.key.Ask]; q != nil && q.model == p.model {
			checked = &p.release
		}
		have, err = b.offer(peer.Name, c, p.key.Ask, p.envelope, checked)
		switch {
		case err != nil || have != 0:
			return err // the answer was accepted, or the client must send the remaining pieces
		case fault != nil:
			return b.drop(peer.Name, &p.written, fault)
		}
		have = int64(len(p.whole))
		return b.take(peer.Name, c, &p.written, opened)
	})
	return have, err
}
