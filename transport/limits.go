package transport

// Maximum sizes of messages and their parts, in bytes.
const (
	// MaxPiece is the maximum size of the piece of a body in one message.
	MaxPiece = 1 << 20
	// MaxEnvelope is the maximum size of the envelope of an item. Longer content belongs in the
	// body.
	MaxEnvelope = 64 << 10

	// streamWindow is the number of bytes that one end may send before the other end has read
	// them. It is constant, so that the number of unread bytes is bounded. With 512 KiB the rate
	// is 10 MB/s at a round trip of 50 ms.
	streamWindow = 512 << 10
	connWindow   = 1 << 20

	sentPiece = 256 << 10 // piece of a release's body in a message
	sentWhole = 64 << 10  // maximum size of a body that is sent with its offer
	// entryMessage is the size of the messages in which an entry is sent. They fit into gRPC's
	// buffers of 32 KiB. The next larger buffers have 1 MiB, which is too much memory for many
	// clients.
	entryMessage = 32<<10 - 256
	maxIdentity  = 8 << 10  // token, roster entry or certificate request
	maxGuest     = 64 << 10 // total size of a guest's data on one connection, enough for a few joins and pings
	maxAsked     = MaxPiece + MaxEnvelope
	maxAnswer    = 4 << 20
	maxHeaders   = 16 << 10
	maxPlaces    = 1 << 10 // clients of a roster
	maxText      = 500     // maximum length of a refusal's text
)

// Limits are limits on the resources of a server. A zero field selects its default.
type Limits struct {
	Connections int // connections in total; default 16,384
	// Strangers is the maximum number of connections without a certificate from one host or one
	// IPv6 network. Guests have no certificate. The default is 256.
	Strangers int
	// PerParty is the maximum number of connections of one party. The default is 4. A further
	// connection closes the oldest one, which may be dead although the server has not noticed.
	PerParty int
	Calls    int // concurrent calls on one connection; default 16
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
