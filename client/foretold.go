package client

import (
	"context"
	"errors"

	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// followBrief processes the next entry of the transcript. The coordinator may omit the body of
// an entry that clients can compute from earlier entries, and signs the hash of the body. If the
// body that followBrief computes has another hash, because of rounding or another version of the
// program, followBrief requests the body.
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
	a.client.log.Info("requesting a plan that differs from the one computed here", "entry", a.next())
	if item, err = link.Whole(ctx, a.next()); err != nil {
		return e, err
	}
	return a.follow(item)
}
