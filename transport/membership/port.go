package membership

import (
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	// maxStreams is the maximum number of incoming streams that may be open at once, and maxStream
	// the maximum number of bytes read from each. It is three times the size of the list of all
	// nodes in the largest study.
	maxStreams = 8
	maxStream  = 1 << 20
	// maxPacket is the size in bytes above which a packet is dropped. A valid packet fits into an
	// Ethernet frame of about 1500 bytes.
	maxPacket = 2 << 10
	// labelled is the first byte of a message that starts with a label.
	labelled = 244
	// patience is how long a stream may take to send its label.
	patience = 10 * time.Second
	// queue is the maximum number of packets waiting for a node. Further packets are dropped.
	queue = 64
)

// A Port is an address for UDP and TCP that the nodes of several studies share. Each message begins
// with a label that tells to which study it belongs.
type Port struct {
	net  *memberlist.NetTransport
	busy chan struct{} // has one value for each open stream

	mu      sync.Mutex
	outlets map[string]*outlet
	closed  chan struct{}
	done    sync.WaitGroup
}

// Listen opens a port at an address, such as 192.0.2.7:7946, which must be reachable for other
// nodes. Port number 0 means any free port.
func Listen(address string, log *slog.Logger) (*Port, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("gossip at %q: give an IP address and a port, as in 192.0.2.7:7946", address)
	}
	n, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{at.Addr().String()}, BindPort: int(at.Port()), Logger: logger(log),
	})
	if err != nil {
		return nil, fmt.Errorf("gossip at %s: %w", address, err)
	}
	p := &Port{net: n, busy: make(chan struct{}, maxStreams), outlets: map[string]*outlet{}, closed: make(chan struct{})}
	p.done.Go(p.packets)
	p.done.Go(p.streams)
	return p, nil
}

// Number returns the port number.
func (p *Port) Number() uint16 { return uint16(p.net.GetAutoBindPort()) }

// Close stops listening. The caller must first close all nodes of the port.
func (p *Port) Close() error {
	// The library's goroutines end only after they have delivered their last packet or stream. So
	// packets and streams must keep reading its channels until Shutdown returns.
	err := p.net.Shutdown()
	close(p.closed)
	p.done.Wait()
	return err
}

func (p *Port) packets() {
	for {
		select {
		case packet := <-p.net.PacketCh():
			p.deliver(packet)
		case <-p.closed:
			return
		}
	}
}

func (p *Port) deliver(packet *memberlist.Packet) {
	if len(packet.Buf) > maxPacket {
		return
	}
	_, label, err := memberlist.RemoveLabelHeaderFromPacket(packet.Buf)
	if err != nil {
		return
	}
	if o := p.find(label); o != nil {
		select {
		case o.packets <- packet:
		default: // the queue is full, so drop the packet
		}
	}
}

// streams delivers incoming streams to the nodes of their studies. If there are more than
// maxStreams, it closes the rest.
func (p *Port) streams() {
	for {
		select {
		case c := <-p.net.StreamCh():
			select {
			case p.busy <- struct{}{}:
				s := &stream{Conn: c, left: maxStream, end: sync.OnceFunc(func() { <-p.busy })}
				p.done.Go(func() { p.hand(s) })
			default:
				c.Close()
			}
		case <-p.closed:
			return
		}
	}
}

// hand passes an incoming stream to the node of the study in its label. If the label is missing,
// unknown or late, hand closes the stream.
func (p *Port) hand(s *stream) {
	if s.SetDeadline(time.Now().Add(patience)) != nil {
		s.Close()
		return
	}
	header := make([]byte, 2, 2+memberlist.LabelMaxSize)
	if _, err := io.ReadFull(s, header); err != nil || header[0] != labelled {
		s.Close()
		return
	}
	header = header[:2+int(header[1])]
	if _, err := io.ReadFull(s, header[2:]); err != nil {
		s.Close()
		return
	}
	_, label, err := memberlist.RemoveLabelHeaderFromPacket(header)
	o := p.find(label)
	if err != nil || o == nil {
		s.Close()
		return
	}
	s.first = header // the node will read the label again
	select {
	case o.streams <- s:
	case <-o.closed:
		s.Close()
	case <-p.closed:
		s.Close()
	}
}

func (p *Port) find(label string) *outlet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outlets[label]
}

var errLabel = errors.New("the study gossips on this port already")

// outlet creates a study's part of the port. label identifies the study. Only one node of a study
// can use the port.
func (p *Port) outlet(label string) (*outlet, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outlets[label] != nil {
		return nil, errLabel
	}
	o := &outlet{
		NetTransport: p.net, port: p, label: label, closed: make(chan struct{}),
		packets: make(chan *memberlist.Packet, queue), streams: make(chan net.Conn),
	}
	p.outlets[label] = o
	return o, nil
}

// An outlet is one study's part of a port. The study's node uses it as its network.
type outlet struct {
	*memberlist.NetTransport
	port    *Port
	label   string
	packets chan *memberlist.Packet
	streams chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (o *outlet) PacketCh() <-chan *memberlist.Packet { return o.packets }
func (o *outlet) StreamCh() <-chan net.Conn           { return o.streams }

// DialAddressTimeout connects to a node. It limits the bytes that can be read from the connection
// to maxStream, so that a hostile node cannot fill the memory.
func (o *outlet) DialAddressTimeout(at memberlist.Address, d time.Duration) (net.Conn, error) {
	c, err := o.NetTransport.DialAddressTimeout(at, d)
	if err != nil {
		return nil, err
	}
	return &stream{Conn: c, left: maxStream, end: func() {}}, nil
}

// Shutdown removes the study's part of the port. The port itself stays open.
func (o *outlet) Shutdown() error {
	o.once.Do(func() {
		o.port.mu.Lock()
		delete(o.port.outlets, o.label)
		o.port.mu.Unlock()
		close(o.closed)
	})
	return nil
}

// A stream is a connection from which at most left more bytes can be read. It calls end when it is
// closed.
type stream struct {
	net.Conn
	first []byte // bytes that have already been read from the connection
	left  int
	end   func()
}

var errTooLong = errors.New("the stream is too long")

func (s *stream) Read(b []byte) (int, error) {
	if len(s.first) > 0 {
		n := copy(b, s.first)
		s.first = s.first[n:]
		return n, nil
	}
	if s.left == 0 {
		return 0, errTooLong
	}
	n, err := s.Conn.Read(b[:min(len(b), s.left)])
	s.left -= n
	return n, err
}

func (s *stream) Close() error {
	defer s.end()
	return s.Conn.Close()
}

func logger(l *slog.Logger) *log.Logger { return log.New(toSlog{l}, "", 0) }
