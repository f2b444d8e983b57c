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

// KeySize is the length of a gossip key in bytes. It is an AES-256 key.
const KeySize = 32

// farewell is how long a node may take to tell others that it is leaving.
const farewell = 2 * time.Second

// Config configures a [Node].
type Config struct {
	Name  identity.Name
	Study channel.Hash  // SHA-256 of the study document; nodes of other studies are ignored
	Key   secret.Secret // key of KeySize bytes that all parties share
	Port  *Port
	View  *View // records when other parties were seen
	Log   *slog.Logger

	transport memberlist.Transport // network that carries the messages; nil for the real network
}

// A Node gossips in one study on behalf of a daemon.
type Node struct {
	list *memberlist.Memberlist
}

// Start starts a node, which accepts messages at once.
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

// memberlist returns the configuration for the gossip library. All messages are encrypted and
// uncompressed. They have only the names and addresses of nodes.
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

// Address returns the address at which other nodes can reach this one.
func (n *Node) Address() string { return n.list.LocalNode().Address() }

// Join contacts the nodes at the given addresses. If none answers, it returns an error, and the
// daemon can continue without gossip.
func (n *Node) Join(addresses ...string) error {
	if reached, err := n.list.Join(addresses); reached == 0 {
		return fmt.Errorf("gossip: none of %s answers: %w", strings.Join(addresses, ", "), err)
	}
	return nil
}

// Close tells the other nodes that this one is leaving, and stops it.
func (n *Node) Close() error {
	// The message only saves time. Without it, the other nodes would notice later that this one has
	// stopped.
	_ = n.list.Leave(farewell)
	return n.list.Shutdown()
}

// ears passes events from the gossip library to the view.
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

// NotifyAlive returns an error if a node is not a party of the study, or if it sends more than its
// name and address. The library then ignores the node.
func (e ears) NotifyAlive(n *memberlist.Node) error {
	switch name := identity.Name(n.Name); {
	case name != e.own && !e.view.known(name):
		return errStranger
	case len(n.Meta) > 0:
		return errBaggage
	}
	return nil
}

// AckPayload returns nil, because answers to pings have no data.
func (ears) AckPayload() []byte { return nil }

func (e ears) NotifyPingComplete(n *memberlist.Node, _ time.Duration, _ []byte) { e.seen(n) }

func (e ears) seen(n *memberlist.Node) {
	if name := identity.Name(n.Name); name != e.own {
		e.view.Seen(name, Gossip)
	}
}

// toSlog receives the library's log lines. Other nodes can cause them, so they are logged at debug
// level. They have names and addresses, but no keys.
type toSlog struct{ log *slog.Logger }

const maxLine = 300

func (s toSlog) Write(line []byte) (int, error) {
	if s.log != nil {
		text := strings.TrimSpace(string(line[:min(len(line), maxLine)]))
		s.log.Debug("gossip", "says", text)
	}
	return len(line), nil
}
