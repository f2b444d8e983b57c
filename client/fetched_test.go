package client_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/crypto/channel"
	"fedpvi/transport"
)

// breaking is a coordinator that fails to deliver a release the first three times.
type breaking struct {
	*coordinator.Study
	failures atomic.Int32
}

func (b *breaking) Pieces(ctx context.Context, peer channel.Party, of transport.Wanted) (transport.Pieces, error) {
	p, err := b.Study.Pieces(ctx, peer, of)
	return brokenPieces{p, b}, err
}

type brokenPieces struct {
	transport.Pieces
	b *breaking
}

func (p brokenPieces) Read(into []byte, from int64) error {
	if p.b.failures.Add(1) < 4 {
		return &transport.Refusal{Reason: transport.Unavailable, Text: "not now"}
	}
	return p.Pieces.Read(into, from)
}

// Each client must fetch each release, although the coordinator fails three times.
func TestFetchedStudyAgreesWithSimulator(t *testing.T) {
	st := fetchedStudy(t)
	_, records, _, natural := simulated(t, st.Source)
	var b *breaking
	n := newNetworkBehind(t, st, records, func(n *realNetwork) transport.Coordinator {
		b = &breaking{Study: n.study}
		return b
	})
	n.finds(natural)
	if got := b.failures.Load(); got != 2*3*3+3 {
		t.Errorf("%d pieces were read, want those of three releases by three clients in two rounds, and three failures", got)
	}
}

//abuse:case A21 a study whose sums could not be checked with the releases: refused before the first answer
func TestSumsAloneAreRefused(t *testing.T) {
	fetchedStudy(t)
	h, all := federation(t, signedStudy(recordPrivacy, "solver = \"clipped-analytical\"", ""), "north", "south", "west")
	h.sumsOnly = true
	h.begin()
	if _, err := all[0].step(); client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), "sums without the releases") {
		t.Errorf("exit code %d: %v", client.CodeOf(err), err)
	}
	if spent := all[0].account().Spent; spent != 0 {
		t.Errorf("the client has spent %g", spent)
	}
}
