package membership

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/secret"
)

// KeySize is the length in bytes of a gossip key, which is a key of AES-256.
const KeySize = 32

// farewell limits the time for which a node tells others that it leaves.
const farewell = 2 * time.Second

// Config configures a [Node].
type Config struct {
	Name  identity.Name
	Study channel.Hash  // SHA-256 of the study document; nodes of other studies are ignored
	Key   secret.Secret // key of KeySize bytes, the same for all parties
	Port  *Port
	View  *View // stores the times at which other parties were seen
	Log   *slog.Logger

	transport memberlist.Transport // network for the messages; nil for the real network
}

// A Node takes part in the gossip of a study for one daemon.
type Node struct {
	list *memberlist.Memberlist
}

// Start starts a node. The node accepts messages at once.
func Start(c Config) (*Node, error) {
	if c.View == nil || c.Name == "" {
		return nil, errors.New("gossip needs a name and a view")
	}
	config, err := c.memberlist()
	if err != nil {
		return nil, err
	}
	if config.Transport, err = c.connect(); err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	list, err := memberlist.Create(config)
	if err != nil {
		return nil, fmt.Errorf("gossip: %w", errors.Join(err, config.Transport.Shutdown()))
	}
	return &Node{list}, nil
}

func (c Config) connect() (memberlist.Transport, error) {
	switch {
	case c.transport != nil:
		return c.transport, nil
	case c.Port == nil:
		return nil, errors.New("a node needs a port")
	}
	return c.Port.outlet(channel.ServerName(c.Study))
}

// memberlist returns the configuration of the gossip library. All messages are encrypted,
// uncompressed, and contain only names and addresses of nodes.
func (c Config) memberlist() (*memberlist.Config, error) {
	m := memberlist.DefaultWANConfig()
	m.Name, m.Label = string(c.Name), channel.ServerName(c.Study)
	key := c.Key.Reveal()
	if len(key) != KeySize {
		return nil, fmt.Errorf("a gossip key must have %d bytes", KeySize)
	}
	m.SecretKey = key
	m.GossipVerifyIncoming, m.GossipVerifyOutgoing = true, true
	m.EnableCompression = false
	m.Logger = logger(c.Log)
	e := ears{c.Name, c.View}
	m.Events, m.Ping, m.Alive = e, e, e
	return m, nil
}

// Address returns the address at which other nodes reach this node.
func (n *Node) Address() string { return n.list.LocalNode().Address() }

// Join contacts the nodes at the given addresses, and fails if none answers. The daemon can then
// continue without gossip.
func (n *Node) Join(addresses ...string) error {
	if reached, err := n.list.Join(addresses); reached == 0 {
		return fmt.Errorf("gossip: none of %s answers: %w", strings.Join(addresses, ", "), err)
	}
	return nil
}

// Close tells the other nodes that this node leaves, and stops it.
func (n *Node) Close() error {
	// The message only saves time: without it, the other nodes notice later that this one has
	// stopped.
	_ = n.list.Leave(farewell)
	return n.list.Shutdown()
}

// ears passes the events of the gossip library to the view.
type ears struct {
	own  identity.Name
	view *View
}

var (
	errStranger = errors.New("the node is not a party of the study")
	errBaggage  = errors.New("the node sends more than a name and an address")
)

func (e ears) NotifyJoin(n *memberlist.Node)   { e.seen(n) }
func (e ears) NotifyUpdate(n *memberlist.Node) { e.seen(n) }

func (e ears) NotifyLeave(n *memberlist.Node) {
	if name := identity.Name(n.Name); name != e.own {
		e.view.miss(name)
	}
}

// NotifyAlive returns an error, so that the library ignores the node, for a node that is not a
// party of the study or that sends more than its name and address.
func (e ears) NotifyAlive(n *memberlist.Node) error {
	switch name := identity.Name(n.Name); {
	case name != e.own && !e.view.known(name):
		return errStranger
	case len(n.Meta) > 0:
		return errBaggage
	}
	return nil
}

// AckPayload returns nil, because answers to pings contain no data.
func (ears) AckPayload() []byte { return nil }

func (e ears) NotifyPingComplete(n *memberlist.Node, _ time.Duration, _ []byte) { e.seen(n) }

func (e ears) seen(n *memberlist.Node) {
	if name := identity.Name(n.Name); name != e.own {
		e.view.Seen(name, Gossip)
	}
}

// toSlog receives the log lines of the library. Other nodes can cause them, so they are logged at
// debug level. They contain names and addresses, but no keys.
type toSlog struct{ log *slog.Logger }

const maxLine = 300

func (s toSlog) Write(line []byte) (int, error) {
	if s.log != nil {
		text := strings.TrimSpace(string(line[:min(len(line), maxLine)]))
		s.log.Debug("gossip", "says", text)
	}
	return len(line), nil
}
