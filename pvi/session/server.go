package session

import (
	"bytes"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// A Server is the coordinator's state machine for a whole study. The caller calls Next until it
// returns false, Collect for each release, and Close when the deadline of a plan has passed. It
// delivers the entries that these methods return to all sites, in the same order.
//
// A Server is not safe for concurrent use.
type Server struct {
	run[serverPhase]
	rounds *pvi.Server // server of the rounds; nil until they begin

	closed   int              // number of plans that have an outcome
	model    [32]byte         // hash of the current state, which the next plan is made from
	watching bool             // whether the server computes influences
	models   map[int][32]byte // hash of the state that each open plan was made from, by plan number
}

// NewServer returns the server of a study before its first plan. The roster may have any order, but
// each client must be in it only once. NewServer refuses a study that uses a published method with
// a wrong privacy claim.
func NewServer(st *study.Study, roster []pvi.ClientID) (*Server, error) {
	s, err := newServer(st, roster)
	if err != nil {
		return nil, err
	}
	s.model = s.phase().model()
	return s, nil
}

func newServer(st *study.Study, roster []pvi.ClientID) (*Server, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	s := &Server{run: run[serverPhase]{course: c}, models: map[int][32]byte{}}
	return s, s.advance(s.begin)
}

func (s *Server) begin(p phase) (serverPhase, error) { return p.newServer(s) }

func (s *Server) phase() serverPhase { return s.phases[len(s.phases)-1] }

// Next opens the next plan and returns it as an entry. It returns false if there are no more plans,
// or if the next plan has to wait for an outcome.
func (s *Server) Next() (Entry, bool) {
	place := len(s.phases) - 1
	number, body, ok := s.phase().next()
	if !ok {
		return Entry{}, false
	}
	s.planned = s.course.numbered(place, number)
	s.models[s.planned] = s.model
	kind, _ := s.course.phases[place].kinds()
	return Entry{kind, s.planned, body}, true
}

// Collect adds a client's release to the sum of a plan. After the last missing answer it returns
// the outcome; before, it returns nil. An invalid release changes nothing, and leads to an error
// that is [pvi.Refused]. Any other error ends the study.
func (s *Server) Collect(client pvi.ClientID, plan int, release []byte) (*Entry, error) {
	p, number, err := s.opened(plan)
	if err != nil {
		return nil, err
	}
	body, err := p.collect(client, number, release)
	return s.outcome(plan, body, err)
}

// Close ends a plan whose deadline has passed, without waiting for missing answers.
func (s *Server) Close(plan int) (*Entry, error) {
	p, number, err := s.opened(plan)
	if err != nil {
		return nil, err
	}
	body, err := p.close(number)
	return s.outcome(plan, body, err)
}

// Replay checks an outcome from a transcript and applies it. It returns the clients whose answers
// the outcome contains. If this server computes a different outcome from the same sum, the error is
// [pvi.Refused]. To check a transcript without releases, compare its plans with those that Next
// returns, and call Replay with each of its outcomes.
func (s *Server) Replay(e Entry) (participants []pvi.ClientID, err error) {
	p, number, err := s.opened(e.Plan)
	if err != nil {
		return nil, err
	}
	place, _ := s.course.at(e.Plan)
	if _, kind := s.course.phases[place].kinds(); e.Kind != kind {
		return nil, refuse("plan %d has an entry of kind %q, want %q", e.Plan, e.Kind, kind)
	}
	participants, body, err := p.replay(number, e.Body)
	if err != nil {
		return nil, err
	}
	again, err := s.outcome(e.Plan, body, nil)
	if err == nil && !bytes.Equal(again.Body, e.Body) {
		err = refuse("the outcome of plan %d does not follow from the sum that was opened", e.Plan)
	}
	return participants, err
}

func (s *Server) opened(plan int) (serverPhase, int, error) {
	if _, ok := s.models[plan]; !ok {
		return nil, 0, refuse("plan %d is not open", plan)
	}
	place, number := s.course.at(plan)
	return s.phases[place], number, nil
}

// outcome returns the outcome of a plan as an entry, or nil if the plan is still open. After the
// last plan of a phase, it begins the next phase.
func (s *Server) outcome(plan int, body []byte, err error) (*Entry, error) {
	if err != nil || body == nil {
		return nil, err
	}
	delete(s.models, plan)
	s.closed++
	if s.last != nil && s.last.Plan == 0 {
		s.last.Plan = plan
	}
	if err := s.advance(s.begin); err != nil {
		return nil, err
	}
	s.model = s.phase().model()
	place, _ := s.course.at(plan)
	_, kind := s.course.phases[place].kinds()
	return &Entry{kind, plan, body}, nil
}

// Open returns the numbers of the plans that have no outcome yet, in increasing order.
func (s *Server) Open() []int {
	open := make([]int, 0, len(s.models))
	for plan := range s.models {
		open = append(open, plan)
	}
	slices.Sort(open)
	return open
}

// Waiting returns the clients that have not answered the given plan, in the order of the roster. It
// returns nil if the plan is not open.
func (s *Server) Waiting(plan int) []pvi.ClientID {
	p, number, err := s.opened(plan)
	if err != nil {
		return nil
	}
	return p.waiting(number)
}

// Done reports whether every plan of the study has an outcome.
func (s *Server) Done() bool { return s.closed == s.course.plans() }

// Fewest returns the number of answers below which a plan of the current phase is void.
func (s *Server) Fewest() int { return s.phase().fewest() }

// Model returns the hash of the current state, which identifies the posterior that the next plan
// will be made from.
func (s *Server) Model() [32]byte { return s.model }

// ModelOf returns the hash of the state that an open plan was made from. The [Answer] repeats this
// hash. ModelOf returns false if the plan is not open.
func (s *Server) ModelOf(plan int) ([32]byte, bool) {
	model, ok := s.models[plan]
	return model, ok
}
