package transport

import "net"

// An Observer counts a client's or server's events, for metrics. No argument depends on parties,
// rounds or records. The methods are called concurrently.
type Observer interface {
	// Called counts a call when it ends. outcome is "ok", "canceled", "internal" or the [Reason] of
	// a refusal. If the client has ended a call of Follow, it is [Ended].
	Called(method, outcome string)
	// Moved counts bytes on a connection, with those that TLS adds.
	Moved(received, sent int)
	// Connected counts open connections. change is +1 when one is opened and −1 when one is closed.
	Connected(change int)
}

type blind struct{}

func (blind) Called(string, string) {}
func (blind) Moved(int, int)        {}
func (blind) Connected(int)         {}

// counted is a connection that reports how many bytes it carries to an observer.
type counted struct {
	net.Conn
	observer Observer
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.observer.Moved(n, 0)
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.observer.Moved(0, n)
	return n, err
}
