package pvi

import (
	"slices"

	"fedpvi/pvi/study"
)

// A ScaleServer adds up what clients release to find the scale of columns. It is
// driven like [Server]: Next, Collect or Close, and the outcome to every client.
type ScaleServer struct {
	scaling *Scaling
	scale   *scale
	open    *scaleRound
}

// A scaleRound is a pass that has no outcome yet.
type scaleRound struct {
	Answered []ClientID // in order
	Sum      []int64
}

// NewScaleServer returns a server at the public bounds.
func NewScaleServer(s *Scaling) *ScaleServer {
	return &ScaleServer{scaling: s, scale: newScale(s)}
}

// Next returns the plan of the next pass, and false if answers must come first or
// the scale is found.
func (s *ScaleServer) Next() (ScalePlan, bool) {
	if s.open != nil || s.Done() {
		return ScalePlan{}, false
	}
	number := s.scale.passes + 1
	s.open = &scaleRound{Sum: make([]int64, s.scaling.step(number).size)}
	return ScalePlan{s.scaling.digest, number, s.scale.bounds()}, true
}

// Collect adds a release to the pass, and returns the outcome if it was the last
// one missing. A release that is out of place is [Refused] and changes nothing.
func (s *ScaleServer) Collect(r *ScaleRelease) (*ScaleOutcome, error) {
	c := s.scaling
	if r.Scaling != c.digest {
		return nil, refuse("the release is for scaling %.16s, this is %.16s", r.Scaling, c.digest)
	}
	if s.open == nil || r.Number != s.scale.passes+1 {
		return nil, refuse("pass %d is not open", r.Number)
	}
	if _, ok := slices.BinarySearch(c.roster, r.Client); !ok {
		return nil, refuse("client %q is not in the roster", r.Client)
	}
	at, answered := slices.BinarySearch(s.open.Answered, r.Client)
	if answered {
		return nil, refuse("client %q has answered pass %d", r.Client, r.Number)
	}
	if err := c.step(r.Number).checkSum(r.Sum, 1); err != nil {
		return nil, err
	}
	for i, n := range r.Sum {
		s.open.Sum[i] += n
	}
	s.open.Answered = slices.Insert(s.open.Answered, at, r.Client)
	if len(s.open.Answered) < len(c.roster) {
		return nil, nil
	}
	return s.finish(), nil
}

// checkSum refuses a sum that the given number of answers cannot yield.
func (s *scaleStep) checkSum(sum []int64, answers int) error {
	if len(sum) != s.size {
		return refuse("a sum of the standardisation has %d elements, want %d", len(sum), s.size)
	}
	most := int64(answers) * s.limit
	for i, n := range sum {
		if n > most || n < -most {
			return refuse("element %d is beyond what %d answers can yield", i+1, answers)
		}
	}
	return nil
}

// Close ends the open pass with the answers that have come. With fewer than U_min
// it is void: nothing is opened, and the bounds stay.
func (s *ScaleServer) Close() (*ScaleOutcome, error) {
	if s.open == nil {
		return nil, refuse("no pass is open")
	}
	return s.finish(), nil
}

func (s *ScaleServer) finish() *ScaleOutcome {
	o := &ScaleOutcome{Scaling: s.scaling.digest, Number: s.scale.passes + 1, Verdict: Void, Participants: s.open.Answered}
	if len(s.open.Answered) >= s.scaling.minClients {
		o.Verdict, o.Sum = Accepted, s.open.Sum
	}
	s.scale.follow(o.Sum, len(o.Participants))
	s.open = nil
	return o
}

// Waiting returns the clients whose answer to the open pass is missing, in order.
func (s *ScaleServer) Waiting() []ClientID {
	if s.open == nil {
		return nil
	}
	return missing(s.scaling.roster, s.open.Answered)
}

// Done reports whether every pass has an outcome.
func (s *ScaleServer) Done() bool { return s.scale.passes == s.scaling.Passes() }

// Columns returns what is known so far. It is not a copy.
func (s *ScaleServer) Columns() []ColumnScale { return s.scale.columns }

// Scaled returns the study on the scale that was found. Every pass must have an
// outcome.
func (s *ScaleServer) Scaled() (*study.Study, error) { return s.scale.scaled() }
