package transport

import (
	"net"
	"net/netip"
	"slices"
	"sync"

	"fedpvi/crypto/channel"
)

// A door counts a server's connections. If there are too many, it closes connections before the
// server reads any bytes from them. A stranger is a peer that has not yet authenticated itself.
type door struct {
	limits    Limits
	balancers []netip.Prefix
	observer  Observer
	auditor   Auditor

	mu        sync.Mutex
	open      map[*guarded]struct{}
	strangers map[string]int // number of strangers' connections, keyed by host
	parties   map[channel.Party][]*guarded
}

func newDoor(c ServerConfig) *door {
	return &door{
		limits: c.Limits, balancers: c.Balancers, observer: c.Observer, auditor: c.Auditor,
		open: map[*guarded]struct{}{}, strangers: map[string]int{}, parties: map[channel.Party][]*guarded{},
	}
}

// guarded is a connection that a door has let in. The door counts it until it is closed.
type guarded struct {
	counted
	door     *door
	balanced bool          // whether the connection comes from a load balancer
	host     string        // host under which the door counts a stranger; behind a load balancer, empty until the header is read
	party    channel.Party // authenticated party at the other end; zero for a stranger
	once     sync.Once
}

// enter counts a new connection. If the server or the host of c already has too many, it returns
// false.
func (d *door) enter(c net.Conn) (*guarded, bool) {
	host, balanced := hostOf(c.RemoteAddr()), d.behind(c.RemoteAddr())
	if balanced {
		host = ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) >= d.limits.Connections || !balanced && d.strangers[host] >= d.limits.Strangers {
		return nil, false
	}
	g := &guarded{counted: counted{c, d.observer}, door: d, balanced: balanced, host: host}
	d.open[g] = struct{}{}
	if !balanced {
		d.strangers[host]++
	}
	d.observer.Connected(+1)
	return g, true
}

// hostOf returns the key under which the connections of strangers are counted. For IPv4, this is
// the address. For IPv6, it is the first 64 bits, because one machine may use all addresses that
// begin with them.
func hostOf(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	host := at.Addr().Unmap().WithZone("")
	if host.Is4() {
		return host.String()
	}
	network, err := host.Prefix(64)
	if err != nil {
		return host.String()
	}
	return network.String()
}

// know counts a connection under its party, now that the party has authenticated itself, and no
// longer under its host. If the party has too many connections, know closes the oldest. A guest is
// the zero party, and remains under its host.
func (d *door) know(g *guarded, party channel.Party) {
	if party == (channel.Party{}) {
		return
	}
	if oldest := d.rename(g, party); oldest != nil {
		oldest.Close()
	}
}

func (d *door) rename(g *guarded, party channel.Party) (oldest *guarded) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, here := d.open[g]; !here {
		return nil
	}
	d.forget(g.host)
	g.party = party
	all := append(d.parties[party], g)
	d.parties[party] = all
	if len(all) > d.limits.PerParty {
		return all[0]
	}
	return nil
}

// forget counts one stranger fewer for a host. If host is empty, it does nothing.
func (d *door) forget(host string) {
	if host == "" {
		return
	}
	if d.strangers[host]--; d.strangers[host] == 0 {
		delete(d.strangers, host)
	}
}

func (d *door) drop(party channel.Party) {
	d.mu.Lock()
	all := slices.Clone(d.parties[party])
	d.mu.Unlock()
	for _, g := range all {
		g.Close()
	}
}

func (d *door) connected() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.parties) > 0
}

func (d *door) leave(g *guarded) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, g)
	if g.party == (channel.Party{}) {
		d.forget(g.host)
	} else {
		d.forgetParty(g)
	}
	d.observer.Connected(-1)
}

func (d *door) forgetParty(g *guarded) {
	rest := slices.DeleteFunc(d.parties[g.party], func(other *guarded) bool { return other == g })
	if len(rest) == 0 {
		delete(d.parties, g.party)
		return
	}
	d.parties[g.party] = rest
}

func (g *guarded) Close() error {
	err := g.Conn.Close()
	g.once.Do(func() { g.door.leave(g) })
	return err
}

// A guardedListener closes connections that its door does not admit.
type guardedListener struct {
	net.Listener
	door *door
}

func (l guardedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g, ok := l.door.enter(c); ok {
			return g, nil
		}
		l.door.auditor.Handshake(c.RemoteAddr(), "", channel.Party{}, errCrowded)
		c.Close()
	}
}
