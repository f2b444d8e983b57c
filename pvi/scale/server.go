package scale

import (
	"slices"

	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// A Server adds up releases to find the scale of columns. For each pass the caller calls Next, then
// Collect for each answer, and Close if answers are missing. It delivers every outcome to every
// client.
type Server struct {
	scaling *Scaling
	scale   *scale
	open    *pass
}

type pass struct {
	Answered []phase.ClientID // clients that have answered, sorted by name
	Sum      []int64
	Releases []int64 `json:",omitempty"` // releases of the clients in Answered, if published
}

// NewServer returns a server whose bounds are the public bounds.
func NewServer(s *Scaling) *Server {
	return &Server{scaling: s, scale: newScale(s)}
}

// Next returns the plan of the next pass, or false if answers are missing or all passes are done.
func (s *Server) Next() (Plan, bool) {
	if s.open != nil || s.Done() {
		return Plan{}, false
	}
	number := s.scale.passes + 1
	s.open = &pass{Sum: make([]int64, s.scaling.step(number).size)}
	return Plan{s.scaling.digest, number, s.scale.bounds()}, true
}

// Collect adds a release to the sum. It returns the outcome if this was the last missing answer,
// and otherwise nil. For an invalid release the error is [phase.Refused], and nothing changes.
func (s *Server) Collect(r *Release) (*Outcome, error) {
	c := s.scaling
	if r.Scaling != c.digest {
		return nil, phase.Refuse("the release is for scaling %.16s, this is %.16s", r.Scaling, c.digest)
	}
	if s.open == nil || r.Number != s.scale.passes+1 {
		return nil, phase.Refuse("pass %d is not open", r.Number)
	}
	if _, ok := c.roster.Index(r.Client); !ok {
		return nil, phase.Refuse("client %q is not in the roster", r.Client)
	}
	at, answered := slices.BinarySearch(s.open.Answered, r.Client)
	if answered {
		return nil, phase.Refuse("client %q has answered pass %d", r.Client, r.Number)
	}
	if err := c.step(r.Number).checkSum(r.Sum, 1); err != nil {
		return nil, err
	}
	for i, n := range r.Sum {
		s.open.Sum[i] += n
	}
	if c.ReleasesSize(r.Number) > 0 {
		s.open.Releases = slices.Insert(s.open.Releases, at*len(r.Sum), r.Sum...)
	}
	s.open.Answered = slices.Insert(s.open.Answered, at, r.Client)
	if len(s.open.Answered) < len(c.roster.Clients) {
		return nil, nil
	}
	return s.finish(), nil
}

func (s *step) checkSum(sum []int64, answers int) error {
	if len(sum) != s.size {
		return phase.Refuse("a sum of the standardisation has %d elements, want %d", len(sum), s.size)
	}
	most := s.within.Of(answers)
	for i, n := range sum {
		if n > most || n < -most {
			return phase.Refuse("element %d is beyond what %d answers can yield", i+1, answers)
		}
	}
	return nil
}

// Close ends the open pass without the missing answers. It is void with fewer than U_min, the
// smallest number for which a sum is opened.
func (s *Server) Close() (*Outcome, error) {
	if s.open == nil {
		return nil, phase.Refuse("no pass is open")
	}
	return s.finish(), nil
}

func (s *Server) finish() *Outcome {
	o := &Outcome{Scaling: s.scaling.digest, Number: s.scale.passes + 1, Verdict: phase.Void, Participants: s.open.Answered}
	if len(s.open.Answered) >= s.scaling.roster.Fewest {
		o.Verdict, o.Sum, o.Releases = phase.Accepted, s.open.Sum, s.open.Releases
	}
	s.scale.follow(o.Sum, len(o.Participants))
	s.open = nil
	return o
}

// Waiting returns the clients that have not answered the open pass, in the order of the roster.
func (s *Server) Waiting() []phase.ClientID {
	if s.open == nil {
		return nil
	}
	return phase.Missing(s.scaling.roster.Clients, s.open.Answered)
}

// Done reports whether every pass has an outcome.
func (s *Server) Done() bool { return s.scale.passes == s.scaling.Passes() }

// Columns returns the scale of each column so far. The slice is not a copy.
func (s *Server) Columns() []Column { return s.scale.columns }

// Scaled returns the study with the scale that was found. Every pass must have an outcome.
func (s *Server) Scaled() (*study.Study, error) { return s.scale.scaled() }

// Outcomes returns the number of passes that have an outcome.
func (s *Server) Outcomes() int { return s.scale.passes }

// Replay ends the open pass with the sum of o, an outcome from a transcript, and returns the
// outcome that the server computes. If that differs from o, the transcript is wrong.
func (s *Server) Replay(o *Outcome) (*Outcome, error) {
	if s.open == nil || o.Number != s.scale.passes+1 {
		return nil, phase.Refuse("pass %d is not open", o.Number)
	}
	step := s.scaling.step(o.Number)
	if err := phase.CheckReplay(o.Participants, s.scaling.roster.Clients, o.Sum, step.size, step.within); err != nil {
		return nil, err
	}
	if err := s.scaling.checkReleases(o); err != nil {
		return nil, err
	}
	s.open.Answered = slices.Clone(o.Participants)
	if o.Sum != nil {
		s.open.Sum, s.open.Releases = slices.Clone(o.Sum), slices.Clone(o.Releases)
	}
	return s.finish(), nil
}
