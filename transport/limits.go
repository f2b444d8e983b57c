package transport

// These are the maximum sizes of messages and their parts, in bytes.
const (
	// MaxPiece is the maximum size of a piece of a body in one message.
	MaxPiece = 1 << 20
	// MaxEnvelope is the maximum size of an item's envelope. Longer contents belong in the body.
	MaxEnvelope = 64 << 10

	// streamWindow is how many bytes one side may send before the other has read them. It is
	// constant, so that unread bytes take a limited amount of memory. With 512 KiB and a round trip
	// of 50 ms, 10 MB/s are possible.
	streamWindow = 512 << 10
	connWindow   = 1 << 20

	sentPiece = 256 << 10 // a client sends a body in pieces of this size
	sentWhole = 64 << 10  // maximum size of a body that is sent together with its offer
	// entryMessage is the size of the messages in which a server sends an entry. They fit into
	// gRPC's buffers of 32 KiB. The next larger buffers have 1 MiB, and would take too much memory
	// if there are many clients.
	entryMessage = 32<<10 - 256
	maxIdentity  = 8 << 10  // maximum size of a token, roster entry or certificate request
	maxGuest     = 64 << 10 // from a guest, which has no certificate, on one connection; enough for a few joins and pings
	maxAsked     = MaxPiece + MaxEnvelope
	maxAnswer    = 4 << 20
	maxHeaders   = 16 << 10
	maxPlaces    = 1 << 10 // maximum number of clients in a roster
	maxText      = 500     // maximum length of a refusal's text
)

// Limits limit a server's resources. A field that is zero or negative means the default.
type Limits struct {
	Connections int // number of connections; default 16,384
	// Strangers is the maximum number of connections from one host, or one IPv6 network, whose
	// peers have not authenticated themselves or have no certificate. The default is 256.
	Strangers int
	// PerParty is the maximum number of connections from one party. The default is 4. One more
	// connection closes the oldest, because it may be broken without the server having noticed.
	PerParty int
	Calls    int // number of concurrent calls on one connection; default 16
}

func (l Limits) withDefaults() Limits {
	for _, limit := range []struct {
		value *int
		usual int
	}{{&l.Connections, 16384}, {&l.Strangers, 256}, {&l.PerParty, 4}, {&l.Calls, 16}} {
		if *limit.value <= 0 {
			*limit.value = limit.usual
		}
	}
	return l
}
