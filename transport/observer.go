package transport

// An Observer counts events at one end, for metrics. It learns nothing about parties, rounds or
// records. Its methods are called concurrently.
type Observer interface {
	// Called reports the end of a call: "ok", "canceled", "internal" or the [Reason] of a refusal.
	Called(method, outcome string)
	// Moved reports bytes on a connection, including those of TLS.
	Moved(received, sent int)
	// Connected reports a new connection (+1) or a closed one (-1).
	Connected(change int)
}

type blind struct{}

func (blind) Called(string, string) {}
func (blind) Moved(int, int)        {}
func (blind) Connected(int)         {}
