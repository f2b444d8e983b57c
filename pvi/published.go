package pvi

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"fedpvi/pvi/study"
)

// maxPublished is the largest number of elements of all releases in one outcome: 8 MiB.
const maxPublished = 1 << 20

// publishes reports whether an outcome has the releases of its participants. Everybody may read
// them in a study that opens messages, because each has all of its noise. With them nobody need
// believe the coordinator's sum: each client compares its own release with the one that it sent,
// and everybody adds the releases up. Studies of version 1, and outcomes that would be too long,
// have the sum alone.
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

// checkReleases returns a refusal if the releases in an outcome are no releases of its
// participants, or do not add up to its sum.
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

// checkOwn returns a refusal if an outcome that counts the answer of client number at among its
// participants does not contain the release that this client sent.
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
