package client_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/table/origin"
)

// After the client has stopped, its computation is still running.
func TestSignalEndsAComputation(t *testing.T) {
	h, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	before := p.account()
	c := p.open()
	computes, release := make(chan struct{}), make(chan struct{})
	c.SeedNoise(func(int) *dpmech.Stream {
		close(computes)
		<-release // the computation ends only when the test closes release
		return seeded.Stream(1, "client")
	})
	m, err := c.Member("")
	check(t, err)
	policy, err := client.LoadPolicy(p.dir)
	check(t, err)
	ctx, signal := context.WithCancel(t.Context())
	go func() { <-computes; signal() }()
	_, err = c.Run(ctx, client.Run{
		Member: m, Policy: policy, Data: origin.Source{From: p.data},
		Connect: func(context.Context) (client.Link, io.Closer, error) { l := line{p.hub, p.name}; return l, l, nil },
		Wait:    func(context.Context, time.Duration) error { return errors.New("a test must not wait") },
	})
	if client.CodeOf(err) != client.Interrupted {
		t.Errorf("code %d, %v", client.CodeOf(err), err)
	}
	check(t, c.Close())
	close(release)
	if a := p.account(); a.Spent != before.Spent || len(h.releases) != 0 {
		t.Errorf("%v was charged and %d answers were sent", a.Spent-before.Spent, len(h.releases))
	}
	p.mustStep()
	if a := p.account(); !(a.Spent > before.Spent) || len(h.releases) != 1 {
		t.Errorf("then: %v was charged and %d answers were sent", a.Spent-before.Spent, len(h.releases))
	}
}
