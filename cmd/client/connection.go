package main

import (
	"fmt"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"

	"fedpvi/client"
	"fedpvi/transport"
)

// A connection has the flags that every command needs to connect to a coordinator.
type connection struct {
	Deadline time.Duration `name:"round-deadline" help:"Time for a round. All timeouts are derived from it." default:"10m"`
	Proxy    string        `help:"Connect through this HTTP or SOCKS5 proxy, as in http://proxy.example.org:3128 or socks5://127.0.0.1:1080; none for a direct connection. Default: the proxy in the policy, or else the one in HTTPS_PROXY, unless NO_PROXY names the coordinator." placeholder:"URL"`
}

// network returns the configuration for connections. The flag for the proxy takes precedence over
// the policy, and the policy over the environment variables. p is nil if there is no policy yet.
func (f connection) network(p *client.Policy) (client.Network, error) {
	n := client.Network{RoundDeadline: f.Deadline}
	switch {
	case f.Proxy == "none":
	case f.Proxy != "":
		proxy, err := transport.ParseProxy(f.Proxy)
		if err != nil {
			return n, &client.UsageError{Err: fmt.Errorf("--proxy: %w", err)}
		}
		n.Proxy = always(proxy)
	case p != nil && p.Proxy != nil:
		n.Proxy = always(p.Proxy)
	default:
		n.Proxy = ofEnvironment()
	}
	return n, nil
}

func always(p *transport.Proxy) func(string) (*transport.Proxy, error) {
	return func(string) (*transport.Proxy, error) { return p, nil }
}

// ofEnvironment returns a function that picks the proxy for an address, as HTTPS_PROXY and NO_PROXY
// say.
func ofEnvironment() func(address string) (*transport.Proxy, error) {
	choose := httpproxy.FromEnvironment().ProxyFunc()
	return func(address string) (*transport.Proxy, error) {
		u, err := choose(&url.URL{Scheme: "https", Host: address})
		if err != nil || u == nil {
			return nil, err
		}
		p, err := transport.ParseProxy(u.String())
		if err != nil {
			return nil, fmt.Errorf("HTTPS_PROXY: %w", err)
		}
		return p, nil
	}
}
