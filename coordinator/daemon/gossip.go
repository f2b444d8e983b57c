package daemon

import (
	"errors"
	"log/slog"
	"sync"

	"fedpvi/coordinator"
	"fedpvi/transport/membership"
)

// A gossip runs the gossip nodes of all studies on one port. The nodes tell the members of a study
// which clients can be reached.
type gossip struct {
	port *membership.Port
	log  *slog.Logger

	mu    sync.Mutex
	nodes map[*coordinator.Study]*membership.Node
}

func newGossip(address string, log *slog.Logger) (*gossip, error) {
	port, err := membership.Listen(address, log)
	if err != nil {
		return nil, err
	}
	return &gossip{port: port, log: log, nodes: map[*coordinator.Study]*membership.Node{}}, nil
}

// add starts the gossip node of a study, unless the study is over. If the node cannot start, the
// study continues without gossip.
func (g *gossip) add(study *coordinator.Study) {
	if study.Over() {
		return
	}
	node, err := study.Gossip(g.port, g.log)
	if err != nil {
		g.log.Error("cannot start gossip: the study continues without it", "study", study.Name(), "error", err)
		return
	}
	g.log.Info("gossiping", "study", study.Name(), "address", node.Address())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nodes[study] = node
}

// end closes the gossip nodes of the studies for which the function which returns true.
func (g *gossip) end(which func(*coordinator.Study) bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	for study, node := range g.nodes {
		if which(study) {
			delete(g.nodes, study)
			err = errors.Join(err, node.Close())
		}
	}
	return err
}

func (g *gossip) close() error {
	err := g.end(func(*coordinator.Study) bool { return true })
	return errors.Join(err, g.port.Close())
}
