package client

import (
	"context"
	"errors"

	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// followBrief follows the next entry, which may lack a body that follows from those before it. The coordinator
// signed the hash of that body: if what the participant works out has another, as rounding or another program may
// have it, it asks for the body.
func (a *participant) followBrief(ctx context.Context, link Link, item transport.Item) (transcript.Entry, error) {
	if !item.Derived || item.Body != nil {
		return a.follow(item)
	}
	if a.site != nil {
		item.Body = a.site.Foretell()
	}
	e, err := a.follow(item)
	if !errors.Is(err, transcript.ErrBody) {
		return e, err
	}
	a.client.log.Info("a plan is not the one that was worked out here, and is asked for", "entry", a.next())
	if item, err = link.Whole(ctx, a.next()); err != nil {
		return e, err
	}
	return a.follow(item)
}
