package pvi

import (
	"errors"
	"slices"
)

// A OneStepServer adds up what clients release in the last round. It is driven like
// [Server]: Next, Collect or Close, and the outcome says what the posterior is.
type OneStepServer struct {
	protocol *Protocol
	digest   Digest
	point    []float64

	planned   bool
	open      bool
	answered  []ClientID // in order
	gradient  []int64
	curvature []int64
}

// NewOneStepServer returns the server of the last round of a study all of whose
// rounds have an outcome.
func NewOneStepServer(s *Server) (*OneStepServer, error) {
	p := s.protocol
	if p.oneStep == nil {
		return nil, errors.New("the study asks for no last round: inference.noise_aware is not \"one-step\"")
	}
	if !s.Done() {
		return nil, errors.New("the last round comes after all others, some of which have no outcome yet")
	}
	return &OneStepServer{
		protocol: p, digest: oneStepDigest(p, s.q.lambda), point: slices.Clone(s.q.mean()),
		gradient: make([]int64, p.oneStep.Gradient.Dim()), curvature: make([]int64, p.oneStep.Curvature.Dim()),
	}, nil
}

// Next returns the plan, and false if it was returned before.
func (s *OneStepServer) Next() (OneStepPlan, bool) {
	if s.planned {
		return OneStepPlan{}, false
	}
	s.planned, s.open = true, true
	return OneStepPlan{s.digest, s.point}, true
}

// Collect adds a release to the round, and returns the outcome if it was the last one
// missing. A release that is out of place is [Refused] and changes nothing.
func (s *OneStepServer) Collect(r *OneStepRelease) (*OneStepOutcome, error) {
	p := s.protocol
	if r.Round != s.digest {
		return nil, refuse("the release is for last round %.16s, this is %.16s", r.Round, s.digest)
	}
	if !s.open {
		return nil, refuse("the last round is not open")
	}
	if _, ok := p.clientIndex(r.Client); !ok {
		return nil, refuse("client %q is not in the roster", r.Client)
	}
	at, answered := slices.BinarySearch(s.answered, r.Client)
	if answered {
		return nil, refuse("client %q has answered the last round", r.Client)
	}
	if err := p.checkOneStep(r.Gradient, r.Curvature, 1); err != nil {
		return nil, err
	}
	for i, n := range r.Gradient {
		s.gradient[i] += n
	}
	for i, n := range r.Curvature {
		s.curvature[i] += n
	}
	s.answered = slices.Insert(s.answered, at, r.Client)
	if len(s.answered) < len(p.roster) {
		return nil, nil
	}
	return s.finish(), nil
}

// Close ends the round with the answers that have come. With fewer than U_min it is
// void: nothing is opened.
func (s *OneStepServer) Close() (*OneStepOutcome, error) {
	if !s.open {
		return nil, refuse("the last round is not open")
	}
	return s.finish(), nil
}

func (s *OneStepServer) finish() *OneStepOutcome {
	s.open = false
	o := &OneStepOutcome{Round: s.digest, Verdict: Void, Point: s.point, Participants: s.answered}
	if len(s.answered) >= s.protocol.minClients {
		o.Verdict, o.Gradient, o.Curvature = Accepted, s.gradient, s.curvature
	}
	return o
}

// Waiting returns the clients whose answer is missing, in order.
func (s *OneStepServer) Waiting() []ClientID {
	if !s.open {
		return nil
	}
	return missing(s.protocol.roster, s.answered)
}
