package lastround

import (
	"fmt"
	"math"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A Site owns one client's records in the last round and answers its only plan.
//
// A release changes the site's state. The caller must save the state before it sends a byte of the
// release. A lost release must be sent again byte for byte.
type Site struct {
	round    *Round
	id       phase.ClientID
	records  *solver.Regression
	digest   phase.Digest
	point    []float64
	exact    bool // whether all machines compute the same point
	missed   int  // releases that the client did not make in the rounds
	answered bool
	sent     phase.Digest // hash of the release, if published
}

// NewSite returns the site of a client. at is the state at the end of the rounds, and missed the
// number of releases that the client did not make in them.
func NewSite(r *Round, at Start, id phase.ClientID, records *shard.Shard, missed int) *Site {
	return &Site{
		round: r, id: id, records: r.model.Regression(records),
		digest: at.digest(), point: slices.Clone(at.Point), exact: at.Exact, missed: missed,
	}
}

// ID returns the name of the client.
func (s *Site) ID() phase.ClientID { return s.id }

// Releases returns the number of releases that the last round adds to the client's charges: after
// the answer, one plus the releases that the client missed in the rounds. The cost of n releases is
// that of the first n releases of the study. The last round comes last, so all releases before it
// are charged too.
func (s *Site) Releases() int {
	if s.answered {
		return s.missed + 1
	}
	return 0
}

// Propose answers the plan with noise from src. It charges the answer and draws the noise before it
// reads the records. If the site must not answer, the error is [phase.Refused], and nothing is
// computed. After any other error r has no numbers, and the answer is charged.
func (s *Site) Propose(r *Release, plan *Plan, src *dpmech.Stream) error {
	*r = Release{}
	if err := s.Check(plan); err != nil {
		return err
	}
	s.answered, s.point = true, slices.Clone(plan.Point)
	gradient, err := s.released(s.round.Gradient, src, s.records.EachGradient)
	if err != nil {
		return err
	}
	curvature, err := s.released(s.round.Curvature, src, s.records.EachInformation)
	if err != nil {
		return err
	}
	if s.round.ReleasesSize() > 0 {
		s.sent = phase.HashOf(slices.Concat(gradient, curvature))
	}
	*r = Release{s.digest, s.id, gradient, curvature}
	return nil
}

// Check returns the error with which Propose would refuse the plan, or nil.
func (s *Site) Check(plan *Plan) error {
	switch {
	case plan.Round != s.digest:
		return phase.Refuse("the plan is for last round %.16s, this is %.16s", plan.Round, s.digest)
	case !s.knows(plan.Point):
		return phase.Refuse("the point of the last round does not follow from the outcomes that client %q has seen", s.id)
	case s.answered:
		return phase.Refuse("client %q has answered the last round", s.id)
	}
	return nil
}

// knows reports whether point equals the site's own, up to rounding if machines may differ. Privacy
// does not depend on the point: at every point, a record changes each sum by at most its clip.
func (s *Site) knows(point []float64) bool {
	if s.exact {
		return slices.Equal(point, s.point)
	}
	if len(point) != len(s.point) {
		return false
	}
	for i, x := range point {
		scale := math.Abs(s.point[i]) + s.round.model.Parameters.Prior(i).SD
		if !(math.Abs(x-s.point[i]) <= tolerance*scale) {
			return false
		}
	}
	return true
}

// released returns the sum of one vector for each record, plus noise from src. each computes the
// vectors at theta and passes them to add.
func (s *Site) released(m *dpmech.GaussianSum, src *dpmech.Stream, each func(theta []float64, add func([]float64) error) error) ([]int64, error) {
	// exact is the sum without noise, which must not leave this function.
	noisy, exact := make([]int64, m.Dim()), make([]int64, m.Dim())
	err := m.Release(noisy, exact, src, func(add func([]float64) error) error { return each(s.point, add) })
	if err != nil {
		return nil, fmt.Errorf("client %s: last round: %w", s.id, err)
	}
	return noisy, nil
}

// tolerance is the largest floating-point difference between the server's and the site's θ̃,
// relative to the mean's absolute value plus the prior's sd. After a thousand steps, rounding
// causes about 2^-45.
const tolerance = 0x1p-24

// Foretell returns the plan that the server must send.
func (s *Site) Foretell() Plan { return Plan{s.digest, s.point} }

// ForetellOutcome returns the outcome for the given answers and opened sums.
func (s *Site) ForetellOutcome(participants []phase.ClientID, gradient, curvature []int64) Outcome {
	return Outcome{Round: s.digest, Verdict: phase.Accepted, Point: s.point, Participants: participants, Gradient: gradient, Curvature: curvature}
}

// Settle checks the outcome of the last round. If it contradicts the site's state, the error is
// [phase.Refused].
func (s *Site) Settle(o *Outcome) error {
	at, took := slices.BinarySearch(o.Participants, s.id)
	switch {
	case o.Round != s.digest:
		return phase.Refuse("the outcome is for last round %.16s, this is %.16s", o.Round, s.digest)
	case !s.round.roster.Selects(o.Participants):
		return phase.Refuse("the outcome of the last round counts clients that are not in the roster, or not in order")
	case took && !s.answered:
		return phase.Refuse("the outcome of the last round counts an answer that client %q did not give", s.id)
	case !s.knows(o.Point):
		return phase.Refuse("the point of the last round does not follow from the outcomes that client %q has seen", s.id)
	}
	switch o.Verdict {
	case phase.Void:
		if o.Gradient != nil || o.Curvature != nil || o.Releases != nil {
			return phase.Refuse("the outcome of the last round is void and has sums")
		}
		return nil
	case phase.Accepted:
		if fewest := s.round.roster.Fewest; len(o.Participants) < fewest {
			return phase.Refuse("the sums of the last round were opened for %d answers, fewer than the %d for which noise shares were made", len(o.Participants), fewest)
		}
		if err := s.round.check(o.Gradient, o.Curvature, len(o.Participants)); err != nil {
			return err
		}
		if err := s.round.checkReleases(o); err != nil {
			return err
		}
		if size := s.round.Size(); took && o.Releases != nil && phase.HashOf(o.Releases[at*size:][:size]) != s.sent {
			return phase.Refuse("the outcome of the last round has another release of client %q than the one that this client sent: the coordinator has changed it", s.id)
		}
		return nil
	}
	return phase.Refuse("the verdict on the last round is %q", o.Verdict)
}
