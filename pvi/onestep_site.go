package pvi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A OneStepSite owns one client's records in the last round. It answers one plan, at
// the point that it computes for itself from the outcomes that its [Site] has followed.
//
// A release changes the site's state. The caller must have saved the state before a
// byte of the release leaves the house, and must send the same bytes again rather than
// ask for a new release.
type OneStepSite struct {
	protocol *Protocol
	id       ClientID
	records  *solver.Regression
	digest   Digest
	point    []float64
	missed   int // releases of the rounds that the client did not make
	answered bool
}

// NewOneStepSite returns the site of the client of a [Site] that has followed every
// outcome of the study, with the client's records.
func NewOneStepSite(s *Site, records *shard.Shard) (*OneStepSite, error) {
	p := s.protocol
	switch {
	case p.oneStep == nil:
		return nil, errors.New("the study asks for no last round: inference.noise_aware is not \"one-step\"")
	case s.sequence < p.Plans():
		return nil, fmt.Errorf("client %s: the last round comes after all others, some of which have no outcome yet", s.id)
	}
	if err := p.checkShard(records); err != nil {
		return nil, fmt.Errorf("client %s: %w", s.id, err)
	}
	return &OneStepSite{
		protocol: p, id: s.id, records: p.model.Regression(records),
		digest: oneStepDigest(p, s.q.lambda), point: slices.Clone(s.q.mean()),
		missed: p.inRounds(p.Releases()) - s.Releases(),
	}, nil
}

// ID returns the client's name.
func (s *OneStepSite) ID() ClientID { return s.id }

// Releases returns by how much the last round adds to the client's number of releases:
// nothing before it is answered, and then what is missing to all that the study pays
// for. A cost is that of a client's first releases, the last round comes after all
// others and is the dearest: a round that the client missed counts as answered then.
func (s *OneStepSite) Releases() int {
	if s.answered {
		return s.missed + 1
	}
	return 0
}

// Propose answers the plan with noise from src. It is charged, and its noise drawn,
// before anything looks at the records. A plan that is out of place is [Refused], and
// nothing is computed. Any other error leaves r without numbers, and is charged.
func (s *OneStepSite) Propose(r *OneStepRelease, plan *OneStepPlan, src *dpmech.Stream) error {
	*r = OneStepRelease{}
	if err := s.check(plan); err != nil {
		return err
	}
	s.answered, s.point = true, slices.Clone(plan.Point)
	c := s.protocol.oneStep
	var gradientNoise, curvatureNoise dpmech.Noise
	c.Gradient.Draw(&gradientNoise, src)
	c.Curvature.Draw(&curvatureNoise, src)
	gradient, err := released(c.Gradient, &gradientNoise, func(add func([]float64) error) error {
		return s.records.EachGradient(s.point, add)
	})
	if err != nil {
		return fmt.Errorf("client %s: last round: %w", s.id, err)
	}
	curvature, err := released(c.Curvature, &curvatureNoise, func(add func([]float64) error) error {
		return s.records.EachInformation(s.point, add)
	})
	if err != nil {
		return fmt.Errorf("client %s: last round: %w", s.id, err)
	}
	*r = OneStepRelease{s.digest, s.id, gradient, curvature}
	return nil
}

func (s *OneStepSite) check(plan *OneStepPlan) error {
	switch {
	case plan.Round != s.digest:
		return refuse("the plan is for last round %.16s, this is %.16s", plan.Round, s.digest)
	case !s.knows(plan.Point):
		return refuse("the point of the last round does not follow from the outcomes that client %q has seen", s.id)
	case s.answered:
		return refuse("client %q has answered the last round", s.id)
	}
	return nil
}

// knows reports whether a point is the one that the outcomes lead to: exactly, or up to
// rounding where floating-point arithmetic leads to it. Nothing private rests on it: a
// record moves the sums by no more than the clips at any point.
func (s *OneStepSite) knows(point []float64) bool {
	if !s.protocol.Summed() {
		return slices.Equal(point, s.point)
	}
	if len(point) != len(s.point) {
		return false
	}
	for i, x := range point {
		scale := math.Abs(s.point[i]) + s.protocol.model.Parameters.Prior(i).SD
		if !(math.Abs(x-s.point[i]) <= lambdaTolerance*scale) {
			return false
		}
	}
	return true
}

// released returns what a mechanism releases of a query under noise that was drawn.
func released(m *dpmech.GaussianSum, noise *dpmech.Noise, query dpmech.Query) ([]int64, error) {
	sum := m.NewAccumulator()
	if err := query(sum.Add); err != nil {
		return nil, err
	}
	noisy, exact := make([]int64, m.Dim()), make([]int64, m.Dim()) // the latter stays here
	err := m.ReleaseSum(noisy, exact, noise, sum)
	return noisy, err
}
