package membership

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/secret"
)

// A town is a simulated network that records all packets and all node logs. A packet without a
// receiver is lost.
type town struct {
	t       *testing.T
	mu      sync.Mutex
	phones  map[string]*phone
	log     bytes.Buffer
	packets bytes.Buffer
	kept    []sent // all packets that were ever sent
}

// A sent is a packet and its destination.
type sent struct {
	to     string
	packet memberlist.Packet
}

// newTown returns an empty network with simulated time. When the test ends, it waits a simulated
// minute for the nodes to stop.
func newTown(t *testing.T) *town {
	t.Cleanup(func() { pass(time.Minute) })
	return &town{t: t, phones: map[string]*phone{}}
}

func pass(d time.Duration) { <-time.After(d) }

func (w *town) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

// start starts a node. It returns the node, its view and its address.
func (w *town) start(name identity.Name, change func(*Config)) (*Node, *View, string) {
	w.t.Helper()
	p := w.connect()
	view := NewView(sites, time.Now)
	c := Config{
		Name: name, Study: study, Key: secret.New(bytes.Clone(key)), View: view, transport: p,
		Log: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&c)
	}
	node, err := Start(c)
	check(w.t, err)
	w.t.Cleanup(func() { node.list.Shutdown() })
	return node, view, p.address
}

// A phone connects one node to a town.
type phone struct {
	town    *town
	address string
	packets chan *memberlist.Packet
	streams chan net.Conn
	dead    chan struct{}
	once    sync.Once
}

func (w *town) connect() *phone {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &phone{
		town: w, address: fmt.Sprintf("127.0.0.1:%d", 20000+len(w.phones)),
		packets: make(chan *memberlist.Packet, 100), streams: make(chan net.Conn), dead: make(chan struct{}),
	}
	w.phones[p.address] = p
	return p
}

func (p *phone) find(address string) *phone {
	p.town.mu.Lock()
	defer p.town.mu.Unlock()
	return p.town.phones[address]
}

func (p *phone) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	at, err := net.ResolveTCPAddr("tcp", p.address)
	return at.IP, at.Port, err
}

func (p *phone) WriteTo(b []byte, address string) (time.Time, error) {
	from, err := net.ResolveUDPAddr("udp", p.address)
	if err != nil {
		return time.Time{}, err
	}
	p.town.mu.Lock()
	p.town.packets.Write(b)
	p.town.kept = append(p.town.kept, sent{address, memberlist.Packet{Buf: bytes.Clone(b), From: from}})
	p.town.mu.Unlock()
	if other := p.find(address); other != nil {
		select {
		case other.packets <- &memberlist.Packet{Buf: bytes.Clone(b), From: from, Timestamp: time.Now()}:
		default:
		}
	}
	return time.Now(), nil
}

// replay sends all packets to an address again that were ever sent to it, and returns how many
// there are.
func (w *town) replay(address string) (n int) {
	w.mu.Lock()
	kept := slices.Clone(w.kept)
	w.mu.Unlock()
	for _, s := range kept {
		if s.to == address {
			again := s.packet
			again.Buf, again.Timestamp = bytes.Clone(s.packet.Buf), time.Now()
			w.phones[address].packets <- &again
			n++
		}
	}
	return n
}

func (p *phone) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	other := p.find(address)
	if other == nil {
		return nil, errors.New("no such number")
	}
	here, there := net.Pipe()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case other.streams <- there:
		return here, nil
	case <-other.dead:
	case <-timer.C:
	}
	return nil, errors.New("no node answers")
}

func (p *phone) PacketCh() <-chan *memberlist.Packet { return p.packets }
func (p *phone) StreamCh() <-chan net.Conn           { return p.streams }

func (p *phone) Shutdown() error {
	p.once.Do(func() { close(p.dead) })
	return nil
}
