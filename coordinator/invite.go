package coordinator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
)

// Invite makes an invitation for each name. The invitations expire after the duration valid, and
// replace earlier ones for the same names that were not redeemed. Invite fails if the study has
// begun or if a name is not allowed.
func (s *Study) Invite(ctx context.Context, names []identity.Name, valid time.Duration) ([]Invited, error) {
	var invited []Invited
	err := s.call(ctx, func(b *batch) error {
		if b.state.begun() || b.state.over() {
			return fmt.Errorf("study %s has begun: its roster is closed", s.Name())
		}
		if err := b.checkInvitees(names); err != nil {
			return err
		}
		for _, name := range names {
			i, err := b.invite(name, valid)
			if err != nil {
				return b.undo(err)
			}
			invited = append(invited, i)
		}
		return nil
	})
	return invited, err
}

// checkInvitees checks the names as checkNames does. It also returns an error if a client with one
// of these names has joined.
func (b *batch) checkInvitees(names []identity.Name) error {
	for _, name := range names {
		if c := b.state.clients[name]; c != nil {
			return fmt.Errorf("%s has joined already", name)
		}
	}
	return checkNames(b.study.name(), b.state.tickets, names)
}

// checkNames returns an error if a new name is malformed, equals the coordinator's name or is too
// similar to another name, or if the roster would become too large. The tickets are those of
// earlier invitations.
func checkNames(coordinator identity.Name, tickets []invitation.Ticket, names []identity.Name) error {
	looks := map[string]identity.Name{coordinator.Skeleton(): coordinator}
	for _, t := range tickets {
		looks[t.Name.Skeleton()] = t.Name
	}
	for i, name := range names {
		if _, err := identity.ParseName(string(name)); err != nil {
			return err
		}
		if other, taken := looks[name.Skeleton()]; taken && (other != name || slices.Contains(names[:i], name)) || name == coordinator {
			return fmt.Errorf("%s: %w", name, errSimilar)
		}
		looks[name.Skeleton()] = name
	}
	if n := len(looks); n > roster.MaxParties {
		return fmt.Errorf("%d members: a study has at most %d, including the coordinator", n, roster.MaxParties)
	}
	return nil
}

func (b *batch) invite(name identity.Name, valid time.Duration) (Invited, error) {
	s, st := b.study, b.state
	i, ticket, err := s.hub.invite(s.hash, st.own, name, s.fixed.Addresses, b.now.Add(valid))
	if err != nil {
		return Invited{}, err
	}
	st.tickets = slices.DeleteFunc(slices.Clone(st.tickets), func(t invitation.Ticket) bool { return t.Name == name })
	st.tickets = append(st.tickets, ticket)
	b.write(func(kept store.Study) error { return kept.PutTicket(string(name), ticket) })
	b.then(func() { s.log.Info("a client was invited", "client", name, "expires", ticket.Expires) })
	return i, nil
}

// Begin begins the study with the clients that have consented so far, without waiting for the
// others.
func (s *Study) Begin(ctx context.Context) error {
	return s.call(ctx, func(b *batch) error {
		st := b.state
		switch {
		case st.over():
			return fmt.Errorf("study %s is over", s.Name())
		case st.begun():
			return fmt.Errorf("study %s has begun already", s.Name())
		case len(st.members()) == 0:
			return fmt.Errorf("study %s cannot begin: no client has joined and consented", s.Name())
		}
		st.blocked.clients = nil
		if err := b.begin(); err != nil {
			return b.undo(err)
		}
		if !st.begun() {
			return fmt.Errorf("study %s cannot begin with %d clients: %s", s.Name(), len(st.members()), st.blocked.why)
		}
		return nil
	})
}

// Abort ends the study early, for all clients.
func (s *Study) Abort(ctx context.Context, why string) error {
	return s.call(ctx, func(b *batch) error {
		if b.state.over() {
			return fmt.Errorf("study %s is over already", s.Name())
		}
		return b.abort(s.name(), why)
	})
}
