package session

import "fedpvi/pvi"

// If anyone may read the releases of a study, each client signs the hash of its release before it
// encrypts the release for the coordinator. Anybody can then check the releases in an outcome.

// Counted has the clients whose answers an outcome counts, in order.
type Counted struct {
	Clients []pvi.ClientID
	// Commitments are the hashes of the clients' releases. They are nil if the outcome has no sum or
	// the releases do not follow from it.
	Commitments [][32]byte
}

// Commits reports whether clients sign the hashes of their releases. See [pvi.Protocol.Commits].
func (s *Server) Commits() bool { return s.course.public.Commits() }

// Commits reports whether clients sign the hashes of their releases. See [pvi.Protocol.Commits].
func (s *Site) Commits() bool { return s.course.public.Commits() }

// Commitment returns the hash of a client's release for a plan, which the client signs.
func (s *Server) Commitment(plan int, release []byte) ([32]byte, error) {
	return s.course.commitment(plan, release)
}

func (c *course) commitment(plan int, release []byte) ([32]byte, error) {
	place, _ := c.at(plan)
	v, err := c.phases[place].vectorOf(release)
	return pvi.HashOf(v), err
}

// Counted returns the clients that an outcome counts, and the hashes of the releases that were
// published with it.
func (s *Server) Counted(e Entry) (Counted, error) { return s.course.counted(e) }

// Counted returns the clients that an outcome counts, and the hashes of the releases that were
// published with it.
func (s *Site) Counted(e Entry) (Counted, error) { return s.course.counted(e) }

func (c *course) counted(e Entry) (Counted, error) {
	sum, err := c.unpadded(e)
	if err != nil {
		return Counted{}, err
	}
	counted, releases := Counted{Clients: sum.Participants}, sum.Releases
	if releases == nil && len(sum.Participants) == 1 {
		releases = sum.Elements // A sum of one release is that release.
	}
	size := len(sum.Elements)
	if sum.Elements == nil || releases == nil {
		return counted, nil
	}
	if len(releases) != size*len(sum.Participants) {
		return Counted{}, refuse("the outcome of plan %d has %d elements of releases, want %d", e.Plan, len(releases), size*len(sum.Participants))
	}
	for m := range sum.Participants {
		counted.Commitments = append(counted.Commitments, pvi.HashOf(releases[m*size:][:size]))
	}
	return counted, nil
}
