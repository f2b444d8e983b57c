package pvi

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"fedpvi/pvi/study"
)

// maxPublished is the largest number of elements of all releases in one outcome. They take 8 MiB.
const maxPublished = 1 << 20

// publishes reports whether outcomes contain the releases of their participants. Anyone may read a
// message in a study that opens messages, because each message has enough noise by itself. The
// releases make the coordinator's sum verifiable: each client compares the release under its name
// with the one that it sent, and anyone can add up the releases. In studies of version 1, in
// studies with a schedule that is not synchronous, and if the releases of all clients would be too
// long, outcomes contain only the sum.
func (p *Protocol) publishes() bool {
	st := p.study
	return st.Version > 1 && st.Federation.Opens == study.OpenMessages && st.Privacy.Unit != study.None &&
		st.Inference.Schedule == study.Synchronous && len(p.roster.Clients)*p.messages.Size <= maxPublished
}

// ReleasesSize returns the largest number of elements of the releases in an outcome. It is 0 if
// outcomes have no releases.
func (p *Protocol) ReleasesSize() int {
	if !p.publishes() {
		return 0
	}
	return len(p.roster.Clients) * p.messages.Size
}

// checkReleases returns a refusal if the releases in an outcome have the wrong size, have elements
// that are too large for a release, or do not add up to the outcome's sum.
func (p *Protocol) checkReleases(o *Outcome) error {
	size := p.messages.Size
	switch {
	case o.Sum == nil || !p.publishes():
		if o.Releases != nil {
			return refuse("the outcome of plan %d has releases, which this study does not publish", o.Number)
		}
		return nil
	case len(o.Releases) != len(o.Participants)*size:
		return refuse("the outcome of plan %d has %d elements of releases, want %d: its sum cannot be checked", o.Number, len(o.Releases), len(o.Participants)*size)
	}
	sum := make([]int64, size)
	for at, n := range o.Releases {
		if n > p.messages.Limit || n < -p.messages.Limit {
			return refuse("a release in the outcome of plan %d is beyond what the mechanism can yield", o.Number)
		}
		sum[at%size] += n
	}
	if !slices.Equal(sum, o.Sum) {
		return refuse("the sum of plan %d is not the sum of the %d releases that were published with it: the coordinator has changed one of them", o.Number, len(o.Participants))
	}
	return nil
}

// checkOwn returns a refusal if the release in an outcome at index at differs from the release that
// this client sent. The client must be the participant with that index.
func (s *Site) checkOwn(o *Outcome, at int) error {
	size := s.protocol.messages.Size
	if o.Sum == nil || !s.protocol.publishes() {
		return nil
	}
	if hashOf(o.Releases[at*size:][:size]) != s.sent {
		return refuse("the outcome of plan %d has another release of client %q than the one that this client sent: the coordinator has changed it", o.Number, s.id)
	}
	return nil
}

// hashOf returns the SHA-256 of a release.
func hashOf(release []int64) Digest {
	h := sha256.New()
	for _, n := range release {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	return Digest(h.Sum(nil))
}
