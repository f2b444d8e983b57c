package session

import (
	"strings"

	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// How long what is said can be, for whoever has to bound it before it is there.

// MaxRelease returns the bytes of the longest release of any phase and client of a
// study: the size to which all are padded, so that none tells which it is.
func MaxRelease(st *study.Study, roster []pvi.ClientID) (int, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return 0, err
	}
	return c.maxRelease(), nil
}

// MaxEntry returns the bytes of the longest body of an entry of a study.
func MaxEntry(st *study.Study, roster []pvi.ClientID) (int, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return 0, err
	}
	return c.maxEntry(), nil
}

// MaxRelease returns the bytes of the longest release of any phase and client.
func (s *Server) MaxRelease() int { return s.course.maxRelease() }

// MaxEntry returns the bytes of the longest body of an entry.
func (s *Server) MaxEntry() int { return s.course.maxEntry() }

// MaxRelease returns the bytes of the longest release of any phase and client.
func (s *Site) MaxRelease() int { return s.course.maxRelease() }

// MaxEntry returns the bytes of the longest body of an entry.
func (s *Site) MaxEntry() int { return s.course.maxEntry() }

// kindsOfPass returns the numbers of the first and the last pass, or of none: all but the
// last are alike.
func (c *course) kindsOfPass() []int {
	if c.scaling == nil {
		return nil
	}
	return []int{1, c.passes()}
}

// perNumber is how many bytes a number of a message has, and an element of λ twice as many: counted, as there may
// be millions.
const perNumber = 8

func (c *course) maxRelease() int {
	longest := pvi.ClientID(strings.Repeat("n", c.limits.Name))
	size := len(wire.AppendRelease(nil, &pvi.Release{Client: longest})) + perNumber*c.public.MessageSize()
	for _, n := range c.kindsOfPass() {
		size = max(size, len(wire.AppendScaleRelease(nil, &scale.Release{Client: longest, Sum: make([]int64, c.scaling.Size(n))})))
	}
	for _, o := range c.public.After() {
		r := &lastround.Release{Client: longest, Gradient: make([]int64, o.Gradient.Dim()), Curvature: make([]int64, o.Curvature.Dim())}
		size = max(size, len(wire.AppendOneStepRelease(nil, r)))
	}
	return size
}

func (c *course) maxEntry() int {
	p := c.public
	roster, centre := p.Roster(), p.Family().Dim()
	size := max(
		len(wire.AppendPlan(nil, &pvi.Plan{Participants: roster}))+perNumber*(2*p.Family().Size()+centre),
		len(wire.AppendOutcome(nil, &pvi.Outcome{Participants: roster}))+perNumber*(centre+p.MessageSize()),
	)
	for _, n := range c.kindsOfPass() {
		size = max(
			size,
			len(wire.AppendScalePlan(nil, &scale.Plan{Bounds: c.study.PublicScale()})),
			len(wire.AppendScaleOutcome(nil, &scale.Outcome{Participants: roster, Sum: make([]int64, c.scaling.Size(n))})),
		)
	}
	for _, o := range p.After() {
		size = max(size, len(wire.AppendOneStepOutcome(nil, &lastround.Outcome{
			Point: make([]float64, p.Family().Dim()), Participants: roster,
			Gradient: make([]int64, o.Gradient.Dim()), Curvature: make([]int64, o.Curvature.Dim()),
		})))
	}
	return size
}
