package transport

// These are the largest sizes of messages and their parts, in bytes.
const (
	// MaxPiece is the largest size of the piece of a body in one message.
	MaxPiece = 1 << 20
	// MaxEnvelope is the largest size of an item's envelope. Longer content belongs in the body.
	MaxEnvelope = 64 << 10

	// streamWindow is the number of bytes that one side can send before the other has read them. It
	// is constant, to bound the memory for unread bytes. 512 KiB allow 10 MB/s at a round trip of
	// 50 ms.
	streamWindow = 512 << 10
	connWindow   = 1 << 20

	sentPiece = 256 << 10 // size of the pieces in which a client sends a body
	sentWhole = 64 << 10  // largest size of a body that is sent together with its offer
	// entryMessage is the size of the messages in which a server sends an entry. They fit into
	// gRPC's buffers of 32 KiB. The next larger ones, of 1 MiB, would take too much memory with
	// many clients.
	entryMessage = 32<<10 - 256
	maxIdentity  = 8 << 10  // largest size of a token, roster entry or certificate request
	maxGuest     = 64 << 10 // from a guest (without a certificate) on one connection, enough for a few joins and pings
	maxAsked     = MaxPiece + MaxEnvelope
	maxAnswer    = 4 << 20
	maxHeaders   = 16 << 10
	maxPlaces    = 1 << 10 // largest number of clients in a roster
	maxText      = 500     // largest length of the text of a refusal
)

// Limits limit a server's resources. A field that is zero or negative means the default.
type Limits struct {
	Connections int // number of connections; default 16,384
	// Strangers is the largest number of connections from one host, or one IPv6 network, by peers
	// that have not authenticated themselves or have no certificate. The default is 256.
	Strangers int
	// PerParty is the largest number of connections of one party. The default is 4. A further
	// connection closes the oldest one, which may be broken without the server having noticed.
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
