package main

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// A proxy forwards connections to the coordinator as a bad network would. It delays bytes, cuts
// connections at any byte, and repeats the beginning of one connection on another.
type proxy struct {
	listener net.Listener
	to       string

	mu   sync.Mutex
	rng  *rand.Rand
	open map[net.Conn]bool
	bad  bool
	cuts int
}

func newProxy(to string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, to: to, open: map[net.Conn]bool{}, rng: rand.New(rand.NewPCG(0, 0))}
	go p.serve()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// behave switches the faults of the network on or off.
func (p *proxy) behave(bad bool, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad, p.rng = bad, rand.New(rand.NewPCG(seed, 1))
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		p.cuts++
		c.Close()
	}
}

func (p *proxy) serve() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.pass(in)
	}
}

func (p *proxy) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	p.know(in, true)
	defer p.know(in, false)
	var both sync.WaitGroup
	both.Go(func() { p.copy(out, in) })
	both.Go(func() { p.copy(in, out) })
	both.Wait()
}

func (p *proxy) know(c net.Conn, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open {
		p.open[c] = true
	} else {
		delete(p.open, c)
	}
}

// A whim is a random decision: to delay some bytes, to cut the connection, or to repeat the bytes.
type whim struct {
	hold  time.Duration
	keep  int // number of bytes to forward before a cut; negative for no cut
	again bool
}

func (p *proxy) whim(n int) whim {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := whim{keep: -1}
	if !p.bad {
		return w
	}
	if p.rng.IntN(4) == 0 {
		w.hold = time.Duration(p.rng.IntN(60)) * time.Millisecond
	}
	if p.rng.IntN(60) == 0 {
		w.keep = p.rng.IntN(n + 1)
		p.cuts++
	}
	w.again = p.rng.IntN(40) == 0
	return w
}

// copy forwards bytes from one connection to another until one of them ends, and then closes both.
func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		if n > 0 {
			w := p.whim(n)
			time.Sleep(w.hold)
			if w.again {
				p.sayAgain(b[:n])
			}
			if w.keep >= 0 {
				_, _ = to.Write(b[:w.keep]) // the connection is cut next, so an error does not matter
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// sayAgain sends bytes that were sent before once more, over a new connection.
func (p *proxy) sayAgain(b []byte) {
	c, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := c.Write(b); err == nil {
		_, _ = io.Copy(io.Discard, c) // the reply is read and ignored
	}
}
