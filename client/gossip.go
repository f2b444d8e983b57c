package client

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fedpvi/crypto/identity"
	"fedpvi/transport"
	peers "fedpvi/transport/membership"
)

// A gossip tells the other daemons of a study that this one is alive, and hears the same from them.
// The study does not depend on it: gossip only shows which daemons are running.
type gossip struct {
	client  *Client
	port    *peers.Port
	view    *peers.View
	parties atomic.Pointer[map[identity.Name]bool]
	node    *peers.Node // nil until the coordinator has sent its gossip address

	end  context.CancelFunc
	done sync.WaitGroup
}

// pace is the minimum time between two display updates.
const pace = time.Second

// gossips listens on the run's gossip address. It calls show whenever a daemon appears or
// disappears.
func (c *Client) gossips(ctx context.Context, r *Run, show func()) (*gossip, error) {
	port, err := peers.Listen(r.Gossip, c.log)
	if err != nil {
		return nil, &UsageError{err}
	}
	g := &gossip{client: c, port: port}
	g.parties.Store(&map[identity.Name]bool{r.Member.coordinator().Name: true})
	g.view = peers.NewView(func(n identity.Name) bool { return (*g.parties.Load())[n] }, c.now)
	ctx, g.end = context.WithCancel(ctx)
	g.done.Go(func() {
		for {
			select {
			case <-g.view.Changed():
				show()
			case <-ctx.Done():
				return
			}
			if r.Wait(ctx, pace) != nil {
				return
			}
		}
	})
	return g, nil
}

// meet restricts the display to the other members of the roster, once the roster is known.
func (g *gossip) meet(a *participant) {
	members := a.chain.Members()
	if g == nil || members == nil || len(*g.parties.Load()) == len(members.Entries) {
		return
	}
	names := map[identity.Name]bool{}
	for _, e := range members.Entries {
		names[e.Name] = e.Name != a.member.Name
	}
	g.parties.Store(&names)
}

// join contacts the coordinator if it takes part in gossip, but does not wait for an answer. If
// this fails, the study continues without gossip.
func (g *gossip) join(m *Member, with transport.Gossip) {
	if g == nil || with.Address == "" {
		return
	}
	if g.node == nil {
		node, err := peers.Start(peers.Config{
			Name: m.Name, Study: m.party().Study, Key: with.Key, Port: g.port, View: g.view, Log: g.client.log,
		})
		if err != nil {
			g.client.log.Warn("no gossip", "error", err)
			return
		}
		g.node = node
	}
	node := g.node
	g.done.Go(func() {
		if err := node.Join(with.Address); err != nil {
			g.client.log.Warn("no gossip with the coordinator: check that this machine can reach its gossip address over UDP and TCP", "error", err)
		}
	})
}

// missed returns the names of the daemons that gossip has lost contact with, separated by commas.
func (g *gossip) missed() string {
	if g == nil {
		return ""
	}
	var names []string
	for _, s := range g.view.All() {
		if !s.Missed.IsZero() {
			names = append(names, string(s.Name))
		}
	}
	return strings.Join(names, ", ")
}

func (g *gossip) close() error {
	if g == nil {
		return nil
	}
	g.end()
	var err error
	if g.node != nil {
		err = g.node.Close()
	}
	g.done.Wait()
	return errors.Join(err, g.port.Close())
}
