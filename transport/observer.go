package transport

import "net"

// An Observer counts the events of a client or a server, for metrics. No argument depends on
// parties, rounds or records. The methods are called concurrently.
type Observer interface {
	// Called counts a call when it ends. outcome is "ok", "canceled", "internal" or the [Reason] of
	// a refusal, and [Ended] for a call of Follow that the client has ended.
	Called(method, outcome string)
	// Moved counts the bytes on a connection, including the bytes that TLS adds.
	Moved(received, sent int)
	// Connected counts open connections: change is +1 for a new one and −1 for a closed one.
	Connected(change int)
}

type blind struct{}

func (blind) Called(string, string) {}
func (blind) Moved(int, int)        {}
func (blind) Connected(int)         {}

// counted is a connection that reports its bytes to an observer.
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
