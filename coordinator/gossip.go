package coordinator

import (
	"fmt"
	"log/slog"
	"strconv"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/secret"
	"fedpvi/transport"
	"fedpvi/transport/membership"
)

const (
	gossipKind    = "fedpvi-gossip-key"
	gossipComment = `The key of one study's gossip, which shows the clients that are present and nothing else.
Every client gets it over its own connection. If it is lost, a new key is made.`
)

// gossipKey loads the gossip key of a study from its file, or makes a new key if there is no file.
func (f files) gossipKey(h Hash) (secret.Secret, error) {
	create := func(l *keyfile.Lock, path string) (secret.Secret, error) {
		key := secret.Random(membership.KeySize)
		return key, l.Create(path, gossipKind, gossipComment, key.Reveal())
	}
	load := func(l *keyfile.Lock, path string) (secret.Secret, error) { return l.Load(path, gossipKind) }
	return orCreate(f, f.gossip(h), true, load, create)
}

// Gossip starts the study's gossip node on a port. The coordinator learns from it which clients can
// be reached, and uses this only for [Study.Status]. The caller must close the node.
func (s *Study) Gossip(port *membership.Port, log *slog.Logger) (*membership.Node, error) {
	key, err := s.hub.files.gossipKey(s.hash)
	if err != nil {
		return nil, err
	}
	node, err := membership.Start(membership.Config{
		Name: s.name(), Study: channel.Hash(s.hash), Key: key, Port: port, View: s.view, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", s.Name(), err)
	}
	address := ":" + strconv.Itoa(int(port.Number()))
	s.gossip.Store(&transport.Gossip{Address: address, Key: key})
	return node, nil
}

// gossips returns the gossip settings for clients. They are zero if the study has no gossip or is
// over.
func (s *Study) gossips() transport.Gossip {
	if g := s.gossip.Load(); g != nil && !s.shown.Load().over {
		return *g
	}
	return transport.Gossip{}
}
