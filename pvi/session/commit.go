package session

import (
	"fmt"
	"io"

	"fedpvi/pvi"
)

// If anyone may read releases, each client signs the hash of its release before it encrypts the
// release for the coordinator. Given these hashes, anyone can check the releases in an outcome, or
// fetch them, and add them up.

// A Counted lists the clients whose answers an outcome contains, in the order of the roster.
type Counted struct {
	Clients []pvi.ClientID
	// Commitments are the hashes of the clients' releases, or nil if the outcome does not include the
	// releases.
	Commitments [][32]byte

	plan  int
	sum   []int64 // the outcome's sum, if the releases have to be fetched
	limit int64   // largest absolute value of an element of a release
}

// Fetched reports whether the releases are too long for the outcome, so that [Counted.AddUp] has to
// fetch them.
func (c Counted) Fetched() bool { return c.sum != nil }

// AddUp checks the sum in an outcome without trusting the coordinator. It fetches the releases,
// checks their hashes and adds them up, in the same way as [fedpvi/pvi/phase.AddUp].
func (c Counted) AddUp(signed [][32]byte, fetch pvi.Fetch) error {
	hashes := make([]pvi.Digest, len(signed))
	for m := range signed {
		hashes[m] = signed[m]
	}
	return pvi.AddUp(fmt.Sprintf("plan %d", c.plan), c.Clients, hashes, c.sum, c.limit, fetch)
}

// Fetched reports whether the releases for a plan are too long for its outcome, so that they have
// to be fetched.
func (s *Server) Fetched(plan int) bool {
	place, number := s.course.at(plan)
	return s.course.phases[place].fetched(number)
}

// Commitment returns the hash of a client's release for a plan. The client signs this hash.
func (s *Server) Commitment(plan int, release []byte) ([32]byte, error) {
	return s.course.commitment(plan, release)
}

// WriteRelease writes those bytes of a release that the commitment is the hash of.
func (s *Server) WriteRelease(w io.Writer, plan int, release []byte) error {
	v, err := s.course.vectorOf(plan, release)
	if err != nil {
		return err
	}
	return pvi.WriteRelease(w, v)
}

func (c *course) commitment(plan int, release []byte) ([32]byte, error) {
	v, err := c.vectorOf(plan, release)
	return pvi.HashOf(v), err
}

func (c *course) vectorOf(plan int, release []byte) ([]int64, error) {
	place, _ := c.at(plan)
	return c.phases[place].vectorOf(release)
}

func (c *course) counted(e Entry) (Counted, error) {
	sum, err := c.unpadded(e)
	if err != nil {
		return Counted{}, err
	}
	counted, releases := Counted{Clients: sum.Participants, plan: e.Plan}, sum.Releases
	if releases == nil && len(sum.Participants) == 1 {
		releases = sum.Elements // with one release, the sum is that release
	}
	if sum.Elements == nil {
		return counted, nil
	}
	if place, number := c.at(e.Plan); releases == nil && c.phases[place].fetched(number) {
		counted.sum, counted.limit = sum.Elements, c.phases[place].limit(number)
	}
	if releases == nil {
		return counted, nil
	}
	size := len(sum.Elements)
	if len(releases) != size*len(sum.Participants) {
		return Counted{}, refuse("the outcome of plan %d has %d elements of releases, want %d", e.Plan, len(releases), size*len(sum.Participants))
	}
	for m := range sum.Participants {
		counted.Commitments = append(counted.Commitments, pvi.HashOf(releases[m*size:][:size]))
	}
	return counted, nil
}
