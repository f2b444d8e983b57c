package coordinator

import (
	"bytes"
	"errors"
	"testing"

	"fedpvi/transport"
)

// A client sends its deal with a changed body, and then with the right one. The round opens.
//
//abuse:case P16 a deal with a changed body is refused, and the right one is taken after it
func TestDealWithAnotherBody(t *testing.T) {
	h := newHouse(t, Options{})
	h.found(secureText(1))
	parties := h.invite(four...)
	admit(t, parties...)
	for _, p := range parties {
		_, err := p.step(t.Context()) // keys
		check(t, err)
	}
	p := parties[0]
	check(t, p.follow(t.Context()))
	check(t, p.message(t.Context()))
	bad := transport.Item{Envelope: p.outbox.Envelope, Body: bytes.Clone(p.outbox.Body)}
	bad.Body[0] ^= 1
	var refused *transport.Refusal
	if err := p.link.Submit(t.Context(), bad); !errors.As(err, &refused) || refused.Reason != transport.Malformed {
		t.Fatalf("a changed body: %v", err)
	}
	check(t, p.link.Submit(t.Context(), *p.outbox))
	p.outbox = nil
	play(t, parties...)
	if result, err := h.study.Posterior(t.Context()); err != nil || result.Result.Accepted != 1 {
		t.Errorf("after a deal with a changed body: %+v, %v", result, err)
	}
}
