package transport

// What one message may have in it, in bytes.
const (
	// MaxPiece is the most of a body in one message.
	MaxPiece = 1 << 20
	// MaxEnvelope is the largest envelope of an item: what is longer belongs into the body.
	MaxEnvelope = 64 << 10

	// A window is what one end may send before the other has read it; it is fixed, so that
	// what waits to be read is bounded. 512 KiB are 10 MB/s at 50 ms there and back.
	streamWindow = 512 << 10
	connWindow   = 1 << 20

	sentPiece = 256 << 10 // of the body of a release
	sentWhole = 64 << 10  // a body that is not longer goes with its offer, also where that is refused
	// An entry goes to many at once, in messages that fit the buffers of 32 KiB that gRPC
	// keeps: the next larger ones have 1 MiB.
	entryMessage = 32<<10 - 256
	maxIdentity  = 8 << 10  // a token, an entry of the roster, a request for a certificate
	maxGuest     = 64 << 10 // from a guest, over one connection: some tries to join, and pings
	maxAsked     = MaxPiece + MaxEnvelope
	maxAnswer    = 4 << 20
	maxHeaders   = 16 << 10
	maxText      = 500 // of a refusal
)

// Limits are what a server holds at most. The zero value of each stands for its default.
type Limits struct {
	Connections int // in all; 16,384
	// Strangers are connections from one host, or one network of IPv6, of those who have
	// not shown a certificate, guests among them; 256.
	Strangers int
	// PerParty are the connections of one party; 4. One more ends the oldest, which
	// may be dead without anybody knowing.
	PerParty int
	Calls    int // at once on one connection; 16
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
