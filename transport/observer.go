package transport

// An Observer counts what goes on at one end, for metrics. It is told nothing about a
// party, a round or a record. Its methods are called by many at once.
type Observer interface {
	// Called says that a call of a method ended: "ok", "canceled", "internal" or the
	// [Reason] of a refusal.
	Called(method, outcome string)
	// Moved says that bytes went over a connection, those of TLS included.
	Moved(received, sent int)
	// Connected says that there is one connection more (+1) or less (-1).
	Connected(change int)
}

type blind struct{}

func (blind) Called(string, string) {}
func (blind) Moved(int, int)        {}
func (blind) Connected(int)         {}
