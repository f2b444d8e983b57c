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

// KeySize is the length of a key of the gossip: AES-256.
const KeySize = 32

// farewell is how long a goodbye may take.
const farewell = 2 * time.Second

// A Config says how a daemon gossips.
type Config struct {
	Name  identity.Name // of this party
	Study channel.Hash  // the daemons of another study are not listened to
	Key   secret.Secret // of KeySize bytes, the same for all parties
	Port  *Port
	View  *View // told of everybody else
	Log   *slog.Logger

	transport memberlist.Transport // of tests
}

// A Node is a daemon that gossips.
type Node struct {
	list    *memberlist.Memberlist
	keyring *memberlist.Keyring
}

// Start begins to listen.
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
	return &Node{list, config.Keyring}, nil
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

// memberlist is the configuration of the library: everything encrypted, nothing
// compressed, nothing carried but names and addresses.
func (c Config) memberlist() (*memberlist.Config, error) {
	m := memberlist.DefaultWANConfig()
	m.Name, m.Label = string(c.Name), channel.ServerName(c.Study)
	key := c.Key.Reveal()
	if len(key) != KeySize {
		return nil, fmt.Errorf("a key of gossip has %d bytes", KeySize)
	}
	keyring, err := memberlist.NewKeyring(nil, key)
	if err != nil {
		return nil, errors.New("a key of gossip that cannot be used")
	}
	m.Keyring = keyring
	m.GossipVerifyIncoming, m.GossipVerifyOutgoing = true, true
	m.EnableCompression = false
	m.Logger = logger(c.Log)
	e := ears{c.Name, c.View}
	m.Events, m.Ping, m.Alive = e, e, e
	return m, nil
}

// Address returns where others reach this node.
func (n *Node) Address() string { return n.list.LocalNode().Address() }

// Join makes itself known to the nodes at addresses. It fails if none of them answers:
// gossip is a convenience, and who fails to join goes on without.
func (n *Node) Join(addresses ...string) error {
	if reached, err := n.list.Join(addresses); reached == 0 {
		return fmt.Errorf("gossip: none of %s answers: %w", strings.Join(addresses, ", "), err)
	}
	return nil
}

// Close says goodbye and ends. A goodbye that nobody hears is no error.
func (n *Node) Close() error {
	_ = n.list.Leave(farewell) // the others find out by themselves
	return n.list.Shutdown()
}

// Accept lets a new key be used by others. A key is changed in three steps, each at all
// parties before the next: Accept the new one, Use it, Drop the old one.
func (n *Node) Accept(key secret.Secret) error {
	return ofKey(n.keyring.AddKey(key.Reveal()))
}

// Use speaks with a key that was accepted.
func (n *Node) Use(key secret.Secret) error { return ofKey(n.keyring.UseKey(key.Reveal())) }

// Drop accepts a key no more.
func (n *Node) Drop(key secret.Secret) error { return ofKey(n.keyring.RemoveKey(key.Reveal())) }

func ofKey(err error) error {
	if err != nil {
		return fmt.Errorf("a key of gossip has %d bytes, is accepted, then used, and dropped when another is used", KeySize)
	}
	return nil
}

// ears hear what the gossip says, and pass on what the view may know.
type ears struct {
	own  identity.Name
	view *View
}

var (
	errStranger = errors.New("a node that is no party of the study")
	errBaggage  = errors.New("a node that carries more than a name and an address")
)

func (e ears) NotifyJoin(n *memberlist.Node)   { e.seen(n) }
func (e ears) NotifyUpdate(n *memberlist.Node) { e.seen(n) }

func (e ears) NotifyLeave(n *memberlist.Node) {
	if name := identity.Name(n.Name); name != e.own {
		e.view.miss(name)
	}
}

// NotifyAlive keeps strangers out of the list of nodes, and what no node of ours says.
func (e ears) NotifyAlive(n *memberlist.Node) error {
	switch name := identity.Name(n.Name); {
	case name != e.own && !e.view.known(name):
		return errStranger
	case len(n.Meta) > 0:
		return errBaggage
	}
	return nil
}

// AckPayload is empty: nothing goes out with an answer.
func (ears) AckPayload() []byte { return nil }

func (e ears) NotifyPingComplete(n *memberlist.Node, _ time.Duration, _ []byte) { e.seen(n) }

func (e ears) seen(n *memberlist.Node) {
	if name := identity.Name(n.Name); name != e.own {
		e.view.Seen(name, Gossip)
	}
}

// toSlog takes the lines of the library's log. They name parties and addresses, and no keys;
// others can make it write, so that it is for those who look for something.
type toSlog struct{ log *slog.Logger }

const maxLine = 300

func (s toSlog) Write(line []byte) (int, error) {
	if s.log != nil {
		text := strings.TrimSpace(string(line[:min(len(line), maxLine)]))
		s.log.Debug("gossip", "says", text)
	}
	return len(line), nil
}
