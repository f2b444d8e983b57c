package coordinator

import (
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
)

// A view is an immutable copy of part of a study's state, for calls outside the loop.
type view struct {
	entries uint64
	begun   bool
	over    bool
	// why there will be no more entries, for the operator; empty while the study runs
	ending  string
	members map[identity.Name]member // clients that have joined
	own     roster.Entry             // the coordinator's present roster entry
	edition int                      // version of the set of members; while it stays the same, the map members is reused
	chain   transcript.Chain
	open    map[uint64]Hash // hash of the λ in each open plan, by plan number
	changed chan struct{}   // closed when a newer view exists

	federation *sums.Federation // nil without secure aggregation
	columns    *columns         // columns of the deals of the open plan; nil before the cut
}

// A member is a client that has joined, with the keys of its connections and its messages.
type member struct {
	pin   identity.Pin
	key   identity.PublicKey
	reads bool // whether the client is allowed to read the transcript
}

func (s *Study) show() {
	v := &view{entries: s.st.chain.Position().Number, begun: s.st.begun(), over: s.st.over(), changed: make(chan struct{}), own: s.st.own, edition: s.st.edition, chain: s.st.chain, open: map[uint64]Hash{}}
	for ask, q := range s.st.open {
		v.open[ask] = q.model
	}
	if x := s.st.secure; x != nil {
		v.federation, v.columns = x.federation, x.columns
	}
	if v.over {
		v.ending = s.st.ending()
	}
	old := s.shown.Load()
	if old != nil && old.begun == v.begun && old.edition == v.edition && len(old.members) == len(s.st.clients) {
		// since then, no client has joined, left or changed its keys
		v.members = old.members
	} else {
		v.members = s.st.listed()
	}
	s.shown.Store(v)
	if old != nil {
		close(old.changed)
	}
}

// listed returns all clients that have joined and whose keys were not revoked. Once the study has
// begun, only clients in the roster may read the transcript.
func (st *state) listed() map[identity.Name]member {
	all := make(map[identity.Name]member, len(st.clients))
	for name, c := range st.clients {
		if !c.revoked {
			all[name] = member{c.pin, c.entry.Key, !st.begun() || st.inRoster(name)}
		}
	}
	return all
}

// ending returns the reason why there will be no more entries, as text for the operator.
func (st *state) ending() string {
	a := st.aborted
	switch {
	case a == nil:
		return "the study is over: its posterior is in the last entry"
	case a.Reason == "":
		return "the study was aborted by " + string(a.By)
	}
	return "the study was aborted by " + string(a.By) + ": " + a.Reason
}
