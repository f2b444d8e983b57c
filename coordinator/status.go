package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fedpvi/crypto/identity"
	"fedpvi/pvi/session"
)

// A Phase is a stage in the life of a study, such as running.
type Phase string

// These are the phases of a study.
const (
	Gathering Phase = "gathering" // clients join and consent
	Running   Phase = "running"
	Ended     Phase = "ended"
	Aborted   Phase = "aborted"
)

// A Status describes the progress of a study, and tells which clients it is waiting for.
type Status struct {
	Study   string         `json:"study"`
	Digest  string         `json:"digest"`
	Phase   Phase          `json:"phase"`
	Clients []ClientStatus `json:"clients"`
	Asked   int            `json:"asked"`     // number of plans sent so far
	Of      int            `json:"questions"` // number of plans in the whole study; 0 before it begins
	Entries uint64         `json:"entries"`   // number of entries in the transcript
	// Roster is the version of the roster. NewKeys lists the parties that will have new keys in the
	// next version.
	Roster  uint64          `json:"roster,omitempty"`
	NewKeys []identity.Name `json:"new_keys,omitempty"`
	Open    []RoundStatus   `json:"open,omitempty"`
	// Rounds has the numbers of accepted, rejected and void rounds. It is nil before the first
	// round has ended. Last describes the last round since the coordinator started.
	Rounds *session.History `json:"rounds,omitempty"`
	Last   *session.Round   `json:"last_round,omitempty"`
	Waits  string           `json:"waits,omitempty"`     // a description of the event that the study is waiting for
	For    []string         `json:"waits_for,omitempty"` // the clients that the study is waiting for
	Since  time.Time        `json:"since"`
	Reason string           `json:"reason,omitempty"` // why the study was aborted or cannot begin
}

// A ClientStatus describes one client in a Status.
type ClientStatus struct {
	Name identity.Name `json:"name"`
	Key  string        `json:"key,omitempty"` // short fingerprint of the client's key
	// one of the constants from stateInvited to stateLeftOut
	State string     `json:"state"`
	Seen  *time.Time `json:"seen,omitempty"` // time of the client's last message
	// when gossip last lost contact with the client; for display only
	Missed  *time.Time `json:"missed,omitempty"`
	Until   *time.Time `json:"until,omitempty"` // when the invitation expires
	Reason  string     `json:"reason,omitempty"`
	Answers int        `json:"answers"`
}

// A RoundStatus describes a plan that has no outcome yet.
type RoundStatus struct {
	Ask      int       `json:"ask"`
	Asked    int       `json:"asked"`    // number of clients in the plan
	Answered int       `json:"answered"` // number of clients that have answered
	Waiting  []string  `json:"waiting"`
	Opened   time.Time `json:"opened"`
	Deadline time.Time `json:"deadline"`
	// Step names the messages of secure aggregation that the plan is waiting for: deals,
	// confirmations or shares.
	Step string `json:"step,omitempty"`
}

// Status returns the current status of the study.
func (s *Study) Status(ctx context.Context) (Status, error) {
	var out Status
	err := s.call(ctx, func(b *batch) error {
		out = b.status()
		return nil
	})
	return out, err
}

func (b *batch) status() Status {
	s, st := b.study, b.state
	out := Status{
		Study: s.Name(), Digest: s.Digest(), Phase: st.phase(), Since: st.since,
		Entries: st.chain.Position().Number, Clients: b.clientStatuses(),
	}
	if st.begun() {
		out.Roster, out.NewKeys = st.chain.Members().Version, slices.Sorted(maps.Keys(st.changes.Waiting))
		out.Asked, out.Of = st.server.Plans()
		if h := st.server.History(); h != (session.History{}) {
			out.Rounds, out.Last = &h, st.last
		}
	}
	if st.aborted != nil {
		out.Reason = fmt.Sprintf("by %s: %s", st.aborted.By, st.aborted.Reason)
	}
	for ask, q := range st.open {
		waiting := b.waiting(ask)
		out.Open = append(out.Open, RoundStatus{
			Ask: int(ask), Asked: len(q.asked), Answered: len(q.taken),
			Waiting: waiting, Opened: q.opened, Deadline: q.deadline, Step: st.secure.step(),
		})
	}
	slices.SortFunc(out.Open, func(a, b RoundStatus) int { return a.Ask - b.Ask })
	b.waits(&out)
	return out
}

func (st *state) phase() Phase {
	switch {
	case st.aborted != nil:
		return Aborted
	case st.over():
		return Ended
	case st.begun():
		return Running
	}
	return Gathering
}

// waits sets out.Waits to the event that the study is waiting for, and out.For to the clients.
func (b *batch) waits(out *Status) {
	st := b.state
	switch {
	case st.over():
	case b.study.unwritten != nil:
		out.Waits = "the disk of the coordinator"
		out.Reason = fmt.Sprintf("the last write failed: %v: free space on this disk, or repair it", b.study.unwritten)
	case !st.begun() && slices.Equal(st.members(), st.blocked.clients) && len(st.members()) > 0:
		out.Waits, out.Reason = "more clients: it cannot begin with the present ones", st.blocked.why
	case !st.begun():
		out.Waits = "clients to join and consent"
		for _, c := range out.Clients {
			if c.State == stateInvited || c.State == stateExpired || c.State == stateJoined {
				out.For = append(out.For, string(c.Name))
			}
		}
	case len(out.Open) > 0:
		out.Waits = st.secure.waits("answers")
		for _, q := range out.Open {
			out.For = append(out.For, q.Waiting...)
		}
		slices.Sort(out.For)
		out.For = slices.Compact(out.For)
	case b.held() != "":
		out.Waits, out.Reason = "an order: coordinator exclude CLIENT, or coordinator abort", b.held()
	default:
		out.Waits = st.secure.waits(fmt.Sprintf("clients to connect (%d are needed)", max(1, st.server.Fewest())))
		out.For = b.unready()
	}
	b.study.events.Waiting(out.Study, len(out.For))
}

// unready returns the clients that the next plan is waiting for. If the secure sums need more keys,
// these are the clients that have not sent any. Otherwise they are the clients that are not
// connected.
func (b *batch) unready() []string {
	if x := b.state.secure; x != nil && !x.keyed() {
		return as[string](b.awaited())
	}
	return as[string](slices.DeleteFunc(b.state.staying(), b.study.presence.present))
}

// These are the states of a client, as an operator reads them.
const (
	stateInvited   = "invited"
	stateExpired   = "invitation expired"
	stateJoined    = "joined"
	stateConsented = "consented"
	stateTakesPart = "takes part"
	stateLeft      = "left"
	stateRevoked   = "revoked"
	stateLeftOut   = "left out"
)

// TakesPart reports whether the client is in the roster and has not left.
func (c *ClientStatus) TakesPart() bool { return c.State == stateTakesPart }

// Gone reports whether the client can no longer take part.
func (c *ClientStatus) Gone() bool {
	return c.State == stateLeft || c.State == stateRevoked || c.State == stateLeftOut
}

func (b *batch) clientStatuses() []ClientStatus {
	st := b.state
	var all []ClientStatus
	for _, t := range st.tickets {
		c := ClientStatus{Name: t.Name, State: stateInvited}
		if !t.Used() {
			c.Until = &t.Expires
			if !b.now.Before(t.Expires) {
				c.State = stateExpired
			}
		}
		if joined := st.clients[t.Name]; joined != nil {
			c.State, c.Key, c.Reason = st.stateOf(t.Name), joined.entry.Key.Fingerprint().Short(), joined.reason
			c.Answers = joined.answers
		}
		c.Seen, c.Missed = b.study.sighted(t.Name)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b ClientStatus) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return all
}

// sighted returns when a client last called the coordinator or was seen by gossip (seen), and when
// gossip last lost contact with it (missed). A nil result means never.
func (s *Study) sighted(name identity.Name) (seen, missed *time.Time) {
	called, hint := s.presence.last(name), s.view.Last(name)
	if hint.At.After(called) {
		called = hint.At
	}
	if !called.IsZero() {
		seen = &called
	}
	if !hint.Missed.IsZero() {
		missed = &hint.Missed
	}
	return seen, missed
}

func (st *state) stateOf(name identity.Name) string {
	switch c := st.clients[name]; {
	case c.revoked:
		return stateRevoked
	case c.left:
		return stateLeft
	case st.inRoster(name):
		return stateTakesPart
	case st.begun() || st.over():
		return stateLeftOut
	case c.approved:
		return stateConsented
	}
	return stateJoined
}

func as[T, S ~string](names []S) []T {
	out := make([]T, len(names))
	for i, name := range names {
		out[i] = T(name)
	}
	return out
}

// Over reports whether the study has ended or was aborted.
func (s *Study) Over() bool { return s.shown.Load().over }
