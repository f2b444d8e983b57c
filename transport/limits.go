package transport

// Limits of one message, in bytes.
const (
	// MaxPiece is the largest part of a body in one message.
	MaxPiece = 1 << 20
	// MaxEnvelope is the largest envelope of an item: longer content belongs in the body.
	MaxEnvelope = 64 << 10

	// streamWindow is the number of bytes that one end may send before the other end has read them.
	// It is constant, so that the number of unread bytes is bounded. With 512 KiB the rate is 10
	// MB/s at a round trip of 50 ms.
	streamWindow = 512 << 10
	connWindow   = 1 << 20

	sentPiece = 256 << 10 // part of a release's body in a message
	sentWhole = 64 << 10  // largest body that is sent with its offer, before the coordinator accepts it
	// entryMessage is the size of the messages in which an entry is sent. They fit gRPC's buffers
	// of 32 KiB. The next larger buffers have 1 MiB, which is too much memory for many clients.
	entryMessage = 32<<10 - 256
	maxIdentity  = 8 << 10  // a token, a roster entry, or a certificate request
	maxGuest     = 64 << 10 // from a guest on one connection: some tries to join, and pings
	maxAsked     = MaxPiece + MaxEnvelope
	maxAnswer    = 4 << 20
	maxHeaders   = 16 << 10
	maxText      = 500 // of a refusal
)

// Limits bound the resources of a server. A zero field selects its default.
type Limits struct {
	Connections int // in total; 16,384
	// Strangers bounds the connections without a certificate from one host or one IPv6 network.
	// Connections of guests count too. The default is 256.
	Strangers int
	// PerParty bounds the connections of one party. The default is 4. A further connection closes
	// the oldest connection, which may be dead without the server's knowledge.
	PerParty int
	Calls    int // concurrent calls on one connection; 16
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
