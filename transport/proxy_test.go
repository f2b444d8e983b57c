package transport

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A middleman is a proxy on this machine. Whatever address a client asks for, it connects it to the
// test server, and records the address.
type middleman struct {
	address string
	asked   chan string
}

// newMiddleman starts a proxy. The function serve speaks the proxy's protocol with a client, and
// returns the address that the client asked for.
func newMiddleman(t *testing.T, w *world, serve func(net.Conn) (string, error)) *middleman {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	m := &middleman{l.Addr().String(), make(chan string, 1)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				address, err := serve(c)
				if err != nil {
					return
				}
				select {
				case m.asked <- address:
				default:
				}
				out, err := w.listener.Dial()
				if err != nil {
					return
				}
				defer out.Close()
				go io.Copy(out, c)
				io.Copy(c, out)
			}()
		}
	}()
	return m
}

// serveConnect returns a function that acts as an HTTP proxy for CONNECT and requires the given
// credentials.
func serveConnect(credentials string) func(c net.Conn) (string, error) {
	return func(c net.Conn) (string, error) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return "", err
		}
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != credentials {
			io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
			return "", errors.New("refused")
		}
		_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		return r.RequestURI, err
	}
}

// serveSOCKS acts as a SOCKS5 proxy (RFC 1928) that needs no authentication. It supports only
// addresses that are names.
func serveSOCKS(c net.Conn) (string, error) {
	b := make([]byte, 258)
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return "", err
	}
	if _, err := io.ReadFull(c, b[:b[1]]); err != nil {
		return "", err
	}
	if _, err := c.Write([]byte{5, 0}); err != nil {
		return "", err
	}
	if _, err := io.ReadFull(c, b[:5]); err != nil || b[3] != 3 {
		return "", errors.New("the address is not a name")
	}
	name := make([]byte, int(b[4])+2)
	if _, err := io.ReadFull(c, name); err != nil {
		return "", err
	}
	if _, err := c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return "", err
	}
	n := len(name) - 2
	return fmt.Sprintf("%s:%d", name[:n], binary.BigEndian.Uint16(name[n:])), nil
}

// The coordinator's name has no address on this machine, so only the proxy can look it up.
func TestCallsThroughProxies(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		serve  func(net.Conn) (string, error)
		prefix string
	}{
		"CONNECT":                 {serveConnect(""), "http://"},
		"CONNECT with a password": {serveConnect("Basic YWxpY2U6b3BlbiBzZXNhbWU="), "http://alice:open%20sesame@"},
		"SOCKS5":                  {serveSOCKS, "socks5://"},
	} {
		m := newMiddleman(t, w, c.serve)
		u, err := ParseProxy(c.prefix + m.address)
		check(t, err)
		config := w.config("ward")
		config.Address, config.DialContext = "hub.invalid:7443", u.DialContext
		line, err := Dial(t.Context(), config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := <-m.asked; got != config.Address {
			t.Errorf("%s: the proxy was asked for %q, want %q", name, got, config.Address)
		}
		check(t, line.Close())
	}
}

// The error must name the proxy and the reason, and must not reveal the password.
func TestProxyRefuses(t *testing.T) {
	m := newMiddleman(t, nil, serveConnect("Basic of somebody else"))
	u, err := ParseProxy("http://alice:secret@" + m.address)
	check(t, err)
	_, err = u.DialContext(t.Context(), "tcp", "hub.invalid:7443")
	if err == nil || !strings.Contains(err.Error(), "407") || !strings.Contains(err.Error(), m.address) || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}

func TestProxyThatIsSilent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newMiddleman(t, nil, func(c net.Conn) (string, error) {
		_, err := http.ReadRequest(bufio.NewReader(c))
		cancel()
		io.Copy(io.Discard, c)
		return "", errors.Join(err, errors.New("silent"))
	})
	u, err := ParseProxy("http://" + m.address)
	check(t, err)
	if _, err := u.DialContext(ctx, "tcp", "hub.invalid:7443"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want that the context was cancelled", err)
	}
}

func TestProxyAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"http://p.example:3128":    "http",
		"https://p.example:443":    "https",
		"socks5://a:b@127.0.0.1:1": "socks5",
		"socks5h://[::1]:1080":     "socks5",
		"p.example:3128":           "",
		"http://p.example":         "",
		"ftp://p.example:21":       "",
		"http://p.example:3128/x":  "",
		"http://:3128":             "",
		"":                         "",
	} {
		u, err := ParseProxy(text)
		if got := err == nil; got != (want != "") || got && u.url.Scheme != want {
			t.Errorf("%q: %v, %v; want scheme %q", text, u, err, want)
		}
	}
}
