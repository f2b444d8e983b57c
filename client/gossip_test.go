package client_test

import (
	"log/slog"
	"testing"

	"fedpvi/client"
	"fedpvi/internal/table/origin"
	"fedpvi/transport/membership"
)

func TestGossipChangesNothing(t *testing.T) {
	t.Parallel()
	st, records, _, natural := simulated(t, federatedStudy(linear, "rounds = 2", "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5", ""))
	n := newRealNetwork(t, st, records)
	port, err := membership.Listen("127.0.0.1:0", nil)
	check(t, err)
	node, err := n.study.Gossip(port, slog.New(slog.DiscardHandler))
	check(t, err)
	defer func() {
		check(t, node.Close())
		check(t, port.Close())
	}()
	n.gossip = "127.0.0.1:0"
	n.finds(natural)
}

func TestUnusableGossipAddress(t *testing.T) {
	h, all := federation(t, planeStudy(recordPrivacy, "", ""), "north")
	p := all[0]
	err := p.with(func(c *client.Client, m *client.Member, policy *client.Policy) error {
		_, err := c.Run(t.Context(), client.Run{Member: m, Policy: policy, Data: origin.Source{From: p.data}, Gossip: "hub.example.org"})
		return err
	})
	if client.CodeOf(err) != client.Usage || len(h.items) != 0 {
		t.Errorf("%v, code %d", err, client.CodeOf(err))
	}
}
