package pvi

import (
	"maps"
	"slices"

	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// A Server is the coordinator's state machine for the rounds of a study. It makes plans, adds up
// releases, and moves λ if the new λ is a proper distribution.
//
// The caller calls Next until it returns false, and delivers the plans. It passes every release to
// Collect, and delivers every outcome to all clients. Close ends a round at its deadline.
type Server struct {
	position
	planned int            // number of plans issued
	issued  []int          // number of plans issued to each client; nil if a plan is for several clients
	open    map[int]*round // open rounds, by plan number

	watching   bool // whether influences are computed
	influences []Influence
}

type round struct {
	Participants []ClientID
	Answered     []ClientID // clients that have answered, sorted by name
	Centre       []int64    // Centre of the plan
	Sum          []int64    // sum of releases; nil before the first answer
	Releases     []int64    `json:",omitempty"` // releases of the clients in Answered, if the study publishes releases
}

// NewServer returns a server before the first plan. Its q is the prior.
func NewServer(p *Protocol) *Server {
	return &Server{
		position: position{protocol: p, q: newPosterior(p)},
		issued:   make([]int, len(p.roster.Clients)),
		open:     map[int]*round{},
	}
}

// Next opens the next plan and returns it. It returns false if the rounds are done, or if the next
// plan must wait for an outcome. The slice Lambda of the plan belongs to the server and is valid
// until the next outcome.
func (s *Server) Next() (Plan, bool) {
	p := s.protocol
	if s.planned == p.Plans() {
		return Plan{}, false
	}
	participants := p.participants(s.planned + 1)
	switch {
	case participants != nil && len(s.open) > 0:
		return Plan{}, false
	case participants == nil:
		i, ok := s.idleClient()
		if !ok {
			return Plan{}, false
		}
		s.issued[i]++
		participants = p.roster.Clients[i : i+1]
	}
	s.planned++
	r := &round{Participants: participants, Centre: s.q.centre()}
	s.open[s.planned] = r
	return Plan{p.digest, s.planned, s.q.lambda, r.Centre, participants}, true
}

// participants returns the clients of plan number n, or nil in an asynchronous schedule, where they
// depend on the order of answers.
func (p *Protocol) participants(n int) []ClientID {
	switch p.study.Inference.Schedule {
	case study.Synchronous:
		return p.roster.Clients
	case study.Sequential:
		i := (n - 1) % len(p.roster.Clients)
		return p.roster.Clients[i : i+1]
	}
	return nil
}

// idleClient returns the client for the next plan of an asynchronous schedule. It is the one with
// the fewest plans so far among those without an open plan.
func (s *Server) idleClient() (int, bool) {
	busy := map[ClientID]bool{}
	for _, r := range s.open {
		busy[r.Participants[0]] = true
	}
	best := -1
	for i, id := range s.protocol.roster.Clients {
		if busy[id] || s.issued[i] == s.protocol.study.Inference.Rounds {
			continue
		}
		if best < 0 || s.issued[i] < s.issued[best] {
			best = i
		}
	}
	return best, best >= 0
}

// Collect adds a release to the sum of its plan. If it completes the answers, Collect ends the
// round and returns the outcome, and otherwise nil. For an invalid release it returns an error that
// is [Refused], and changes nothing.
func (s *Server) Collect(r *Release) (*Outcome, error) {
	p := s.protocol
	if r.Protocol != p.digest {
		return nil, refuse("the release is for protocol %.16s, this is %.16s", r.Protocol, p.digest)
	}
	open, ok := s.open[r.Number]
	if !ok {
		return nil, refuse("plan %d is not open", r.Number)
	}
	if _, ok := slices.BinarySearch(open.Participants, r.Client); !ok {
		return nil, refuse("client %q is not among those of plan %d", r.Client, r.Number)
	}
	at, answered := slices.BinarySearch(open.Answered, r.Client)
	if answered {
		return nil, refuse("client %q has answered plan %d", r.Client, r.Number)
	}
	size := p.messages.Size
	if len(r.Change) != size {
		return nil, refuse("the release of client %q has %d elements, want %d", r.Client, len(r.Change), size)
	}
	limit := p.messages.Limit()
	for i, n := range r.Change {
		if n > limit || n < -limit {
			return nil, refuse("element %d of the release of client %q is beyond what the mechanism can yield", i+1, r.Client)
		}
	}
	if open.Sum == nil {
		open.Sum = make([]int64, size)
	}
	for i, n := range r.Change {
		open.Sum[i] += n
	}
	if p.publishes() {
		open.Releases = slices.Insert(open.Releases, at*size, r.Change...)
	}
	open.Answered = slices.Insert(open.Answered, at, r.Client)
	if len(open.Answered) < len(open.Participants) {
		return nil, nil
	}
	return s.finish(r.Number, open), nil
}

// Close ends the round of a plan without waiting for missing answers, and returns its outcome. The
// round is void if it has fewer than U_min answers, or if its schedule asks only one client and
// that has not answered.
func (s *Server) Close(number int) (*Outcome, error) {
	open, ok := s.open[number]
	if !ok {
		return nil, refuse("plan %d is not open", number)
	}
	return s.finish(number, open), nil
}

func (s *Server) finish(number int, r *round) *Outcome {
	delete(s.open, number)
	s.sequence++
	s.influences = nil
	outcome := &Outcome{
		Protocol:     s.protocol.digest,
		Sequence:     s.sequence,
		Number:       number,
		Verdict:      Void,
		Centre:       r.Centre,
		Participants: r.Answered,
	}
	if len(r.Answered) == len(r.Participants) {
		outcome.Participants = r.Participants
	}
	if len(r.Answered) >= s.protocol.Fewest() {
		if r.Sum == nil { // no release was collected before Replay
			r.Sum = make([]int64, s.protocol.messages.Size)
		}
		outcome.Sum, outcome.Releases = r.Sum, r.Releases
		outcome.Verdict = Rejected
		s.influences = s.influence(number, r)
		if s.q.try(number, len(r.Answered), s.protocol.combined(len(r.Answered), r.Sum, r.Releases), r.Centre) {
			s.q.commit()
			outcome.Verdict = Accepted
		} else {
			s.q.tried = nil // still refers to the rejected sum
		}
	}
	if s.Done() {
		s.q.end()
	}
	return outcome
}

// Waiting returns the clients with an open plan that they have not answered, in the order of the
// roster.
func (s *Server) Waiting() []ClientID {
	waiting := map[ClientID]bool{}
	for _, r := range s.open {
		for _, id := range phase.Missing(r.Participants, r.Answered) {
			waiting[id] = true
		}
	}
	return slices.Sorted(maps.Keys(waiting))
}

// WaitingFor returns the clients that have not answered the plan, in the order of the roster, or
// nil if the plan is not open.
func (s *Server) WaitingFor(number int) []ClientID {
	r, ok := s.open[number]
	if !ok {
		return nil
	}
	return phase.Missing(r.Participants, r.Answered)
}

// Open returns the numbers of the plans that have no outcome yet, in increasing order.
func (s *Server) Open() []int { return slices.Sorted(maps.Keys(s.open)) }
