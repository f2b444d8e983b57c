package pvi

import (
	"maps"
	"slices"

	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// A Server is the coordinator's state machine for the rounds of a study. It issues plans, adds up
// releases, and accepts the new λ if it describes a proper distribution.
//
// The caller calls Next until it returns false, and delivers the plans to the clients. It passes
// their releases to Collect, and delivers each outcome to all clients. When the deadline of a round
// has passed, it calls Close.
type Server struct {
	position
	planned int            // number of plans issued
	issued  []int          // number of plans issued to each client; nil if plans go to several clients at once
	open    map[int]*round // open rounds by plan number

	watching   bool // whether the server computes influences
	influences []Influence
}

type round struct {
	Participants []ClientID
	Answered     []ClientID // clients that have answered, sorted by name
	Centre       []int64    // Centre of the plan
	Sum          []int64    // sum of releases; nil before the first answer
	Releases     []int64    `json:",omitempty"` // releases of the clients in Answered, in this order, if the study publishes releases
}

// NewServer returns a server before the first plan. Its q is the prior.
func NewServer(p *Protocol) *Server {
	return &Server{
		position: position{protocol: p, q: newPosterior(p)},
		issued:   make([]int, len(p.roster.Clients)),
		open:     map[int]*round{},
	}
}

// Next opens the next plan and returns it. It returns false if there are no more plans, or if the
// next plan has to wait for an outcome. The plan's slice Lambda belongs to the server and is valid
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

// participants returns the clients that plan number n asks. In an asynchronous schedule they depend
// on the order of answers, and participants returns nil.
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

// idleClient chooses the client for the next plan of an asynchronous schedule: among the clients
// without an open plan, the one that has had the fewest plans.
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

// Collect adds a release to the sum of its plan. After the last missing answer, it ends the round
// and returns the outcome; before, it returns nil. An invalid release changes nothing, and leads to
// an error that is [Refused].
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
// round is void if fewer than U_min clients have answered, or if it asks only one client and that
// has not answered.
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
		if r.Sum == nil { // Replay starts without collected releases.
			r.Sum = make([]int64, s.protocol.messages.Size)
		}
		outcome.Sum, outcome.Releases = r.Sum, r.Releases
		outcome.Verdict = Rejected
		s.influences = s.influence(number, r)
		if s.q.try(number, len(r.Answered), s.protocol.combined(len(r.Answered), r.Sum, r.Releases), r.Centre) {
			s.q.commit()
			outcome.Verdict = Accepted
		} else {
			s.q.tried = nil // it still refers to the rejected sum
		}
	}
	if s.Done() {
		s.q.end()
	}
	return outcome
}

// Waiting returns the clients that have not answered an open plan, in the order of the roster.
func (s *Server) Waiting() []ClientID {
	waiting := map[ClientID]bool{}
	for _, r := range s.open {
		for _, id := range phase.Missing(r.Participants, r.Answered) {
			waiting[id] = true
		}
	}
	return slices.Sorted(maps.Keys(waiting))
}

// WaitingFor returns the clients that have not answered the given plan, in the order of the roster.
// It returns nil if the plan is not open.
func (s *Server) WaitingFor(number int) []ClientID {
	r, ok := s.open[number]
	if !ok {
		return nil
	}
	return phase.Missing(r.Participants, r.Answered)
}

// Open returns the numbers of the plans that have no outcome yet, in increasing order.
func (s *Server) Open() []int { return slices.Sorted(maps.Keys(s.open)) }
