package transport

// Limits of one message, in bytes.
const (
	// MaxPiece is the largest part of a body in one message.
	MaxPiece = 1 << 20
	// MaxEnvelope is the largest envelope of an item: longer content belongs in the body.
	MaxEnvelope = 64 << 10

	// streamWindow is how much one end may send before the other has read it. It is fixed, so that
	// unread bytes are bounded. 512 KiB allow 10 MB/s at a round trip of 50 ms.
	streamWindow = 512 << 10
	connWindow   = 1 << 20

	sentPiece = 256 << 10 // part of a release's body in a message
	sentWhole = 64 << 10  // largest body that is sent with its offer, before the coordinator accepts it
	// An entry is sent to many clients in messages that fit gRPC's buffers of 32 KiB; the next
	// larger buffers have 1 MiB.
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
	// Strangers bounds the connections without a certificate from one host, or one IPv6 network,
	// including guests; 256.
	Strangers int
	// PerParty bounds the connections of one party; 4. One more closes the oldest, which may be
	// dead without notice.
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
