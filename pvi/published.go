package pvi

import (
	"fmt"
	"io"

	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// publishes reports whether outcomes contain releases. If there is only one client, the sum is its
// release.
func (p *Protocol) publishes() bool {
	return p.study.Inference.Schedule == study.Synchronous && phase.Publishes(p.study, len(p.roster.Clients), p.messages.Size)
}

// Fetched reports whether releases are too long for outcomes, so that readers fetch them
// separately. See [phase.Fetched].
func (p *Protocol) Fetched() bool {
	return p.study.Inference.Schedule == study.Synchronous && phase.Fetched(p.study, len(p.roster.Clients), p.messages.Size)
}

// Commits reports whether clients sign the hash of each release. See [phase.Commits].
func (p *Protocol) Commits() bool { return phase.Commits(p.study) }

// HashOf returns the SHA-256 of a release.
func HashOf(release []int64) Digest { return phase.HashOf(release) }

// WriteRelease writes the bytes of a release that are hashed and signed. See [phase.WriteRelease].
func WriteRelease(w io.Writer, release []int64) error { return phase.WriteRelease(w, release) }

// AddUp fetches the releases that belong to an outcome and checks that their sum is the outcome's
// sum. See [phase.AddUp].
func AddUp(name string, clients []ClientID, signed []Digest, sum []int64, limit int64, fetch Fetch) error {
	return phase.AddUp(name, clients, signed, sum, limit, fetch)
}

// ReleasesSize returns the maximum total length of the releases in an outcome, or 0 if outcomes
// contain none.
func (p *Protocol) ReleasesSize() int {
	if !p.publishes() {
		return 0
	}
	return len(p.roster.Clients) * p.messages.Size
}

// checkReleases refuses an outcome whose releases are impossible or do not add up to its sum.
func (p *Protocol) checkReleases(o *Outcome) error {
	if o.Sum == nil || !p.publishes() {
		if o.Releases != nil {
			return refuse("the outcome of plan %d has releases, which this study does not publish", o.Number)
		}
		return nil
	}
	return phase.CheckReleases(fmt.Sprintf("plan %d", o.Number), o.Releases, o.Sum, len(o.Participants), p.messages.Limit())
}

// checkOwn refuses an outcome in which this client's release is not the one that it sent.
func (s *Site) checkOwn(o *Outcome, index int) error {
	size := s.protocol.messages.Size
	if o.Sum == nil || !s.protocol.publishes() {
		return nil
	}
	if phase.HashOf(o.Releases[index*size:][:size]) != s.sent {
		return refuse("the outcome of plan %d has another release of client %q than the one that this client sent: the coordinator has changed it", o.Number, s.id)
	}
	return nil
}
