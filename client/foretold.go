package client

import (
	"context"
	"errors"

	"fedpvi/crypto/transcript"
	"fedpvi/pvi/session"
	"fedpvi/transport"
)

// followBrief processes the next entry of the transcript. If the coordinator has left out the body,
// followBrief computes it from earlier entries. If its hash is not the signed one, because of
// rounding or because the program versions differ, followBrief requests the body.
func (a *participant) followBrief(ctx context.Context, link Link, item transport.Item) (transcript.Entry, error) {
	if !item.Derived || item.Body != nil {
		return a.follow(ctx, link, item)
	}
	if a.site != nil {
		item.Body = a.foretell(item.Envelope)
	}
	e, err := a.follow(ctx, link, item)
	if !errors.Is(err, transcript.ErrBody) {
		return e, err
	}
	a.client.log.Info("requesting an entry that differs from the one computed here", "entry", a.next())
	if item, err = link.Whole(ctx, a.next()); err != nil {
		return e, err
	}
	return a.follow(ctx, link, item)
}

// foretell computes the next entry's body from earlier entries. If it cannot, it returns nil.
func (a *participant) foretell(envelope []byte) []byte {
	e, err := transcript.Claims(envelope)
	if err != nil || !e.Kind.Outcome() {
		return a.site.Foretell()
	}
	if a.sums == nil {
		return nil
	}
	names, elements, opened := a.sums.Sum()
	if !opened {
		return nil
	}
	return a.site.ForetellOutcome(session.Sum{Participants: clientIDs(names), Elements: elements})
}
