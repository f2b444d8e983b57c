package invitation

import (
	"errors"
	"slices"
	"time"

	"fedpvi/crypto/identity"
)

// ErrRefused is the one answer to a token that is unknown, was used by another key or
// has expired, so that it tells nobody which of them it is.
var ErrRefused = errors.New("this invitation cannot be used: it is unknown, was used or has expired; ask the coordinator for a new one")

// A Ticket is what the coordinator stores of an invitation. It is no secret: the token
// cannot be found from it.
type Ticket struct {
	Study     Hash
	Name      identity.Name
	TokenHash Hash
	Expires   time.Time
	// Holder is the fingerprint of the key that the invitation was redeemed for; zeros
	// while it was not.
	Holder identity.Fingerprint
}

// Used reports whether the invitation was redeemed.
func (t Ticket) Used() bool { return t.Holder != identity.Fingerprint{} }

// Redeem finds the invitation with a token among the tickets of a coordinator and binds
// it to a key, of which the caller knows that its holder sent the token. It returns the
// tickets as they are from then on, for the caller to store before anything is answered,
// and the one that was redeemed. The tickets given are not changed.
//
// The same key may redeem the same invitation again, also when it has expired since: its
// first answer may have been lost. A key that holds another invitation of the study is
// refused: it is a party already. The time that this takes does not depend on the token.
func Redeem(tickets []Ticket, study Hash, token []byte, key identity.PublicKey, now time.Time) ([]Ticket, Ticket, error) {
	hash, holder := tokenHash(study, token), key.Fingerprint()
	found, holds := -1, false
	for i, t := range tickets {
		if sameHash(t.TokenHash, hash) && t.Study == study {
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
