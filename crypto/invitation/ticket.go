package invitation

import (
	"crypto/subtle"
	"errors"
	"slices"
	"time"

	"fedpvi/crypto/identity"
)

// ErrRefused is returned for a token that is unknown, expired, or used by another key. It does not
// tell which.
var ErrRefused = errors.New("this invitation cannot be used: it is unknown, was used or has expired; ask the coordinator for a new one")

// A Ticket is the coordinator's record of an invitation. It need not be secret, because the token
// cannot be computed from it.
type Ticket struct {
	Study     Hash
	Name      identity.Name
	TokenHash Hash
	Expires   time.Time
	// Holder is the fingerprint of the key that has redeemed the invitation, or zero if it is
	// unused.
	Holder identity.Fingerprint
}

// Used reports whether the invitation was redeemed.
func (t Ticket) Used() bool { return t.Holder != identity.Fingerprint{} }

// Redeem finds the ticket for the given token and binds it to a key. The caller must have checked
// that the token was sent by the holder of the key. Redeem returns the redeemed ticket and a new
// list of tickets. The caller must store this list before it replies.
//
// The same key may redeem the same invitation again, even after it has expired, because the
// coordinator's first reply may have been lost. A key that has already redeemed another invitation
// to the study is refused, because its holder is already a party. The running time of Redeem does
// not depend on the token.
func Redeem(tickets []Ticket, study Hash, token []byte, key identity.PublicKey, now time.Time) ([]Ticket, Ticket, error) {
	hash, holder := tokenHash(study, token), key.Fingerprint()
	found, holds := -1, false
	for i, t := range tickets {
		if subtle.ConstantTimeCompare(t.TokenHash[:], hash[:]) == 1 && t.Study == study {
			found = i
		} else if t.Study == study && t.Holder == holder {
			holds = true
		}
	}
	if found < 0 || holds {
		return nil, Ticket{}, ErrRefused
	}
	ticket := tickets[found]
	if ticket.Holder == holder {
		return tickets, ticket, nil
	}
	if ticket.Used() || !now.Before(ticket.Expires) {
		return nil, Ticket{}, ErrRefused
	}
	ticket.Holder = holder
	redeemed := slices.Clone(tickets)
	redeemed[found] = ticket
	return redeemed, ticket, nil
}
