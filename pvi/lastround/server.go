package lastround

import (
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi/phase"
)

// A Server adds up the releases of the last round. The caller calls Next, then Collect for each
// answer, and Close if answers are missing.
type Server struct {
	round  *Round
	digest phase.Digest
	point  []float64

	planned   bool
	open      bool
	answered  []phase.ClientID // sorted by name
	gradient  []int64
	curvature []int64
	releases  []int64 // releases of the clients in answered, if published
}

// NewServer returns the server of the last round r. at is the state at the end of the rounds.
func NewServer(r *Round, at Start) *Server {
	return &Server{
		round: r, digest: at.digest(), point: slices.Clone(at.Point),
		gradient: make([]int64, r.Gradient.Dim()), curvature: make([]int64, r.Curvature.Dim()),
	}
}

// Next returns the only plan of the round and true. Later calls return false.
func (s *Server) Next() (Plan, bool) {
	if s.planned {
		return Plan{}, false
	}
	s.planned, s.open = true, true
	return Plan{s.digest, s.point}, true
}

// Collect adds a release to the sums. It returns the outcome if this was the last missing answer,
// and otherwise nil. For an invalid release the error is [phase.Refused], and nothing changes.
func (s *Server) Collect(r *Release) (*Outcome, error) {
	round := s.round
	if r.Round != s.digest {
		return nil, phase.Refuse("the release is for last round %.16s, this is %.16s", r.Round, s.digest)
	}
	if !s.open {
		return nil, phase.Refuse("the last round is not open")
	}
	if _, ok := round.roster.Index(r.Client); !ok {
		return nil, phase.Refuse("client %q is not in the roster", r.Client)
	}
	at, answered := slices.BinarySearch(s.answered, r.Client)
	if answered {
		return nil, phase.Refuse("client %q has answered the last round", r.Client)
	}
	if err := round.check(r.Gradient, r.Curvature, 1); err != nil {
		return nil, err
	}
	for i, n := range r.Gradient {
		s.gradient[i] += n
	}
	for i, n := range r.Curvature {
		s.curvature[i] += n
	}
	if round.ReleasesSize() > 0 {
		s.releases = slices.Insert(s.releases, at*round.Size(), slices.Concat(r.Gradient, r.Curvature)...)
	}
	s.answered = slices.Insert(s.answered, at, r.Client)
	if len(s.answered) < len(round.roster.Clients) {
		return nil, nil
	}
	return s.finish(), nil
}

// Close ends the round without the missing answers. It is void with fewer than U_min, the smallest
// number for which a sum is opened.
func (s *Server) Close() (*Outcome, error) {
	if !s.open {
		return nil, phase.Refuse("the last round is not open")
	}
	return s.finish(), nil
}

func (s *Server) finish() *Outcome {
	s.open = false
	o := &Outcome{Round: s.digest, Verdict: phase.Void, Point: s.point, Participants: s.answered}
	if len(s.answered) >= s.round.roster.Fewest {
		o.Verdict, o.Gradient, o.Curvature, o.Releases = phase.Accepted, s.gradient, s.curvature, s.releases
	}
	return o
}

// Waiting returns the clients that have not answered, in the order of the roster.
func (s *Server) Waiting() []phase.ClientID {
	if !s.open {
		return nil
	}
	return phase.Missing(s.round.roster.Clients, s.answered)
}

// Point returns θ̃, the mean of the final q. The slice is not a copy.
func (s *Server) Point() []float64 { return s.point }

// Outcomes returns the number of outcomes, 0 or 1.
func (s *Server) Outcomes() int {
	if s.planned && !s.open {
		return 1
	}
	return 0
}

// Replay ends the round with the sums of o, an outcome from a transcript, and returns the outcome
// that the server computes. If that differs from o, the transcript is wrong.
func (s *Server) Replay(o *Outcome) (*Outcome, error) {
	if !s.open {
		return nil, phase.Refuse("the last round is not open")
	}
	if err := phase.CheckReplay(o.Participants, s.round.roster.Clients, nil, 0, dpmech.Range{}); err != nil {
		return nil, err
	}
	if err := s.round.checkReleases(o); err != nil {
		return nil, err
	}
	if o.Gradient != nil || o.Curvature != nil {
		if err := s.round.check(o.Gradient, o.Curvature, len(o.Participants)); err != nil {
			return nil, err
		}
		s.gradient, s.curvature, s.releases = slices.Clone(o.Gradient), slices.Clone(o.Curvature), slices.Clone(o.Releases)
	}
	s.answered = slices.Clone(o.Participants)
	return s.finish(), nil
}
