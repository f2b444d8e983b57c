package session

import (
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// A Server conducts a study. It is driven like [pvi.Server]: Next until there is none,
// Collect for every release, Close at a deadline. The entries that these return are for
// all sites, in that order.
//
// It is not safe for concurrent use.
type Server struct {
	course *course
	scale  *scale.Server // nil if the scale is public
	rounds *pvi.Server   // nil until the scale is found
	last   *lastround.Server

	planned  int              // asks with a plan
	closed   int              // asks with an outcome
	model    [32]byte         // now
	models   map[int][32]byte // of open asks
	verdicts tally            // of the rounds
	ending   *lastround.Outcome
}

// NewServer returns the server of a study before its first question. The roster must
// name each client once, in any order. A study that does something as published is
// refused.
func NewServer(st *study.Study, roster []pvi.ClientID) (*Server, error) {
	s, err := newServer(st, roster)
	if err != nil {
		return nil, err
	}
	s.stand()
	return s, nil
}

func newServer(st *study.Study, roster []pvi.ClientID) (*Server, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return nil, err
	}
	s := &Server{course: c, models: map[int][32]byte{}}
	if c.scaling != nil {
		s.scale = scale.NewServer(c.scaling)
	}
	return s, s.advance()
}

// advance begins the phases whose time has come.
func (s *Server) advance() error {
	c := s.course
	if c.protocol == nil && s.scale.Done() {
		scaled, err := s.scale.Scaled()
		if err != nil {
			return err
		}
		if err := c.found(scaled); err != nil {
			return err
		}
	}
	if c.protocol != nil && s.rounds == nil {
		s.rounds = pvi.NewServer(c.protocol)
	}
	if s.last == nil && s.rounds != nil && s.rounds.Done() && len(c.protocol.After()) > 0 {
		var err error
		s.last, err = s.rounds.LastRound()
		return err
	}
	return nil
}

// phase returns the phase that is played.
func (s *Server) phase() phase {
	switch {
	case s.rounds == nil:
		return scaling
	case s.last == nil:
		return rounds
	}
	return last
}

// Next returns the next plan that can be announced now. It returns false while answers
// must come first and when the study is done.
func (s *Server) Next() (Entry, bool) {
	var number int
	var body []byte
	in := s.phase()
	switch in {
	case scaling:
		plan, ok := s.scale.Next()
		if !ok {
			return Entry{}, false
		}
		number, body = plan.Number, wire.AppendScalePlan(nil, &plan)
	case rounds:
		plan, ok := s.rounds.Next()
		if !ok {
			return Entry{}, false
		}
		number, body = plan.Number, wire.AppendPlan(nil, &plan)
	case last:
		plan, ok := s.last.Next()
		if !ok {
			return Entry{}, false
		}
		number, body = 1, wire.AppendOneStepPlan(nil, &plan)
	}
	s.planned = s.course.ask(in, number)
	s.models[s.planned] = s.model
	return Entry{kinds[in].plan, s.planned, body}, true
}

// Collect takes the release of a client for a question, and returns the outcome if it was
// the last release missing, else nil. One that is out of place is [pvi.Refused] and
// changes nothing. Any other error ends the study.
func (s *Server) Collect(client pvi.ClientID, ask int, release []byte) (*Entry, error) {
	if !s.isOpen(ask) {
		return nil, refuse("question %d is not open", ask)
	}
	var body []byte
	var err error
	switch in, number := s.course.at(ask); in {
	case scaling:
		body, err = s.collectScale(client, number, release)
	case rounds:
		body, err = s.collect(client, number, release)
	case last:
		body, err = s.collectLast(client, release)
	}
	return s.outcome(ask, body, err)
}

func (s *Server) collectScale(client pvi.ClientID, number int, release []byte) ([]byte, error) {
	r, err := wire.ReadScaleRelease(release, s.course.limits)
	if err != nil {
		return nil, err
	}
	if err := speaks(client, r.Client, number, r.Number); err != nil {
		return nil, err
	}
	o, err := s.scale.Collect(r)
	return s.endOfPass(o), err
}

func (s *Server) collect(client pvi.ClientID, number int, release []byte) ([]byte, error) {
	r, err := wire.ReadRelease(release, s.course.limits)
	if err != nil {
		return nil, err
	}
	if err := speaks(client, r.Client, number, r.Number); err != nil {
		return nil, err
	}
	o, err := s.rounds.Collect(r)
	return s.endOfRound(o), err
}

func (s *Server) collectLast(client pvi.ClientID, release []byte) ([]byte, error) {
	r, err := wire.ReadOneStepRelease(release, s.course.limits)
	if err != nil {
		return nil, err
	}
	if err := speaks(client, r.Client, 1, 1); err != nil {
		return nil, err
	}
	o, err := s.last.Collect(r)
	return s.endOfLast(o), err
}

// speaks refuses a release that says another client or number than its envelope.
func speaks(client, of pvi.ClientID, number, to int) error {
	switch {
	case client != of:
		return refuse("client %q sent a release of client %q", client, of)
	case number != to:
		return refuse("the release of client %q answers another question than it says", client)
	}
	return nil
}

// Close ends a question at its deadline with the answers that have come.
func (s *Server) Close(ask int) (*Entry, error) {
	if !s.isOpen(ask) {
		return nil, refuse("question %d is not open", ask)
	}
	in, number := s.course.at(ask)
	var body []byte
	var err error
	switch in {
	case scaling:
		var o *scale.Outcome
		o, err = s.scale.Close()
		body = s.endOfPass(o)
	case rounds:
		var o *pvi.Outcome
		o, err = s.rounds.Close(number)
		body = s.endOfRound(o)
	case last:
		var o *lastround.Outcome
		o, err = s.last.Close()
		body = s.endOfLast(o)
	}
	return s.outcome(ask, body, err)
}

func (s *Server) endOfPass(o *scale.Outcome) []byte {
	if o == nil {
		return nil
	}
	return wire.AppendScaleOutcome(nil, o)
}

func (s *Server) endOfRound(o *pvi.Outcome) []byte {
	if o == nil {
		return nil
	}
	s.verdicts.count(o.Verdict)
	return wire.AppendOutcome(nil, o)
}

func (s *Server) endOfLast(o *lastround.Outcome) []byte {
	if o == nil {
		return nil
	}
	s.ending = o
	return wire.AppendOneStepOutcome(nil, o)
}

// outcome makes the entry that ends a question, nil if there is no body.
func (s *Server) outcome(ask int, body []byte, err error) (*Entry, error) {
	if err != nil || body == nil {
		return nil, err
	}
	delete(s.models, ask)
	s.closed++
	in, _ := s.course.at(ask)
	if err := s.advance(); err != nil {
		return nil, err
	}
	s.stand()
	return &Entry{kinds[in].outcome, ask, body}, nil
}

func (s *Server) isOpen(ask int) bool {
	_, ok := s.models[ask]
	return ok
}

// Open returns the questions that have no outcome yet, in order.
func (s *Server) Open() []int {
	open := make([]int, 0, len(s.models))
	for ask := range s.models {
		open = append(open, ask)
	}
	slices.Sort(open)
	return open
}

// Waiting returns the clients whose answer to an open question is missing, in order.
func (s *Server) Waiting(ask int) []pvi.ClientID {
	if !s.isOpen(ask) {
		return nil
	}
	switch in, number := s.course.at(ask); in {
	case scaling:
		return s.scale.Waiting()
	case rounds:
		return s.rounds.WaitingFor(number)
	}
	return s.last.Waiting()
}

// Asks returns how many questions were asked so far, and how many the study has.
func (s *Server) Asks() (soFar, all int) { return s.planned, s.course.asks() }

// Done reports whether every question of the study has an outcome.
func (s *Server) Done() bool { return s.closed == s.course.asks() }

// Fewest returns the number of answers below which a question of the present phase is
// void.
func (s *Server) Fewest() int {
	if s.phase() == rounds {
		return s.course.protocol.Fewest()
	}
	return s.course.public.MinClients()
}

// Digest returns the identity of what is played: of the finding of the scale, and then
// of the protocol on the scale that was found.
func (s *Server) Digest() [32]byte { return s.course.digest() }

// Model returns the hash of where the study stands now.
func (s *Server) Model() [32]byte { return s.model }

// stand computes that hash, after something has moved.
func (s *Server) stand() {
	digest := s.Digest()
	switch s.phase() {
	case scaling:
		bounds := make([]study.Bounds, 0, len(s.scale.Columns()))
		for _, c := range s.scale.Columns() {
			bounds = append(bounds, c.Bounds)
		}
		s.model = modelOfScale(digest, bounds)
	case rounds:
		s.model = modelOfLambda(digest, s.rounds.Lambda())
	case last:
		s.model = modelOfPoint(digest, s.last.Point())
	}
}

// ModelOf returns the model hash that releases for an open question bear: that of when
// it was asked. False if it is not open.
func (s *Server) ModelOf(ask int) ([32]byte, bool) {
	model, ok := s.models[ask]
	return model, ok
}
