package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"
)

// maxConnectAnswer is the maximum size of a proxy's reply to CONNECT, in bytes.
const maxConnectAnswer = 64 << 10

// A Proxy connects a client to a coordinator.
type Proxy struct{ url *url.URL }

// ParseProxy parses the address of a proxy, such as http://proxy.example.org:3128. The scheme is
// http or https for the method CONNECT (RFC 9110, section 9.3.6), and socks5 for SOCKS5 (RFC 1928).
// The address must have a port, and may have a user and a password.
func ParseProxy(text string) (*Proxy, error) {
	u, err := url.Parse(text)
	if err != nil || u.Port() == "" || u.Hostname() == "" || (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" {
		// The error does not quote the text, because it may have a password.
		return nil, errors.New("the address of a proxy is a scheme, a host and a port, as in http://proxy.example.org:3128")
	}
	switch u.Scheme {
	case "http", "https", "socks5":
		return &Proxy{u}, nil
	case "socks5h":
		u.Scheme = "socks5" // the library always lets the proxy look up names, as socks5h demands
		return &Proxy{u}, nil
	}
	return nil, fmt.Errorf("a proxy with the scheme %q is not supported, only http, https and socks5", u.Scheme)
}

// String returns the proxy's address without its password.
func (p *Proxy) String() string { return p.url.Redacted() }

// DialContext connects to an address through the proxy. It is meant for [Config.DialContext]. The
// proxy looks up the coordinator's name, so this machine needs DNS only for the name of the proxy.
// The proxy sees the coordinator's name and encrypted bytes.
func (p *Proxy) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	dial := askForTunnel
	if p.url.Scheme == "socks5" {
		dial = socks
	}
	c, err := dial(ctx, p.url, address)
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", p, err)
	}
	return c, nil
}

func socks(ctx context.Context, u *url.URL, address string) (net.Conn, error) {
	var auth *proxy.Auth
	if u.User != nil {
		password, _ := u.User.Password()
		auth = &proxy.Auth{User: u.User.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", u.Host, auth, new(net.Dialer))
	if err != nil {
		return nil, err
	}
	return d.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
}

// askForTunnel connects to an HTTP proxy, and through it to the given address.
func askForTunnel(ctx context.Context, u *url.URL, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "https" {
		c = tls.Client(c, &tls.Config{ServerName: u.Hostname()})
	}
	// When ctx is done, set a deadline that has passed, so that tunnel stops reading.
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	err = tunnel(c, u, address)
	if !stop() || err != nil {
		return nil, errors.Join(err, ctx.Err(), c.Close())
	}
	return c, nil
}

// tunnel sends a CONNECT request to a proxy and reads the reply.
func tunnel(c net.Conn, u *url.URL, address string) error {
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if u.User != nil {
		password, _ := u.User.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(c, request+"\r\n"); err != nil {
		return err
	}
	r := bufio.NewReader(io.LimitReader(c, maxConnectAnswer))
	answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("the answer to CONNECT: %w", err)
	}
	switch {
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("it refuses to connect to %s: %s", address, answer.Status)
	case r.Buffered() > 0:
		// a TLS server such as the coordinator does not send anything before the client does
		return errors.New("it sent bytes that are not from the coordinator")
	}
	return nil
}
