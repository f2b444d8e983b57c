package transport

import (
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/pires/go-proxyproto"
)

var errCrowded = errors.New("too many connections from this address, or in all")

// behind reports whether a is a load balancer's address.
func (d *door) behind(a net.Addr) bool {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return false
	}
	host := at.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(d.balancers, func(p netip.Prefix) bool { return p.Contains(host) })
}

// unwrap reads the PROXY protocol header that a load balancer sends at the beginning of a
// connection. It counts the connection under the client's address in the header. It returns a
// connection that has this remote address and begins after the header. A connection that does not
// come from a load balancer is returned unchanged. The caller must have set a deadline.
func (d *door) unwrap(raw net.Conn) (net.Conn, error) {
	g, ok := raw.(*guarded)
	if !ok || !g.balanced {
		return raw, nil
	}
	c := proxyproto.NewConn(g, proxyproto.WithPolicy(proxyproto.REQUIRE), proxyproto.SetReadHeaderTimeout(0))
	if _, err := c.Read(nil); err != nil {
		return nil, err
	}
	if !d.arrive(g, hostOf(c.RemoteAddr())) {
		return nil, errCrowded
	}
	return c, nil
}

// arrive counts a connection from a load balancer under host, the address of the client behind it.
// If the connection was closed or the host has too many, arrive returns false.
func (d *door) arrive(g *guarded, host string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, here := d.open[g]; !here || d.strangers[host] >= d.limits.Strangers {
		return false
	}
	g.host = host
	d.strangers[host]++
	return true
}
