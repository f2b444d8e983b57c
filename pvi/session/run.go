package session

// A run is the part that [Server] and [Site] share: the course and the state machines of the phases
// that have begun. P is serverPhase or sitePhase.
type run[P machine] struct {
	course  *course
	phases  []P    // phases that have begun, first to last
	planned int    // number of plans that were published
	last    *Round // round that ended last; nil in a site
}

// A machine is the state machine of a phase, in a server or a site.
type machine interface {
	outcomes() int // number of outcomes of the phase so far
	report(*Result) error
	saver
}

// advance calls begin to begin the next phase once all plans of the earlier ones have an outcome.
func (r *run[P]) advance(begin func(phase) (P, error)) error {
	place, _ := r.course.at(r.outcomes() + 1)
	if place < len(r.phases) {
		return nil
	}
	p, err := begin(r.course.phases[place])
	if err != nil {
		return err
	}
	r.phases = append(r.phases, p)
	return nil
}

func (r *run[P]) outcomes() (n int) {
	for _, p := range r.phases {
		n += p.outcomes()
	}
	return n
}

// Plans returns the numbers of plans published and in all.
func (r *run[P]) Plans() (soFar, all int) { return r.planned, r.course.plans() }

// Digest identifies the present rules: those of the scale phase, then the protocol for the scale
// that was found.
func (r *run[P]) Digest() [32]byte { return r.course.digest }

// MaxRelease returns the number of bytes of the longest release.
func (r *run[P]) MaxRelease() int { return r.course.maxRelease() }

// MaxEntry returns the number of bytes of the longest body of an entry.
func (r *run[P]) MaxEntry() (size int) {
	for _, p := range r.course.phases {
		size = max(size, p.maxEntry())
	}
	return size
}

// VectorSize returns the number of elements of a vector, which is the same in all phases.
func (r *run[P]) VectorSize() int { return r.course.public.VectorSize() }

// SumOf returns the sum in an outcome of the transcript.
func (r *run[P]) SumOf(e Entry) (Sum, error) {
	sum, err := r.course.unpadded(e)
	if err != nil || sum.Elements == nil {
		return sum, err
	}
	padded := make([]int64, r.VectorSize())
	copy(padded, sum.Elements)
	sum.Elements = padded
	return sum, nil
}

// Commits reports whether clients sign the hashes of their releases. See [pvi.Protocol.Commits].
func (r *run[P]) Commits() bool { return r.course.public.Commits() }

// Fetches reports whether some releases are too long for their outcomes.
func (r *run[P]) Fetches() bool {
	for _, p := range r.course.phases {
		// only the last pass of the scale phase has releases of another size
		if p.fetched(1) || p.fetched(p.plans()) {
			return true
		}
	}
	return false
}

// Counted returns the clients that the outcome e counts, with the hashes of the releases that it
// contains.
func (r *run[P]) Counted(e Entry) (Counted, error) { return r.course.counted(e) }

// verdicts returns the verdicts of the rounds so far, or nil before the rounds.
func (r *run[P]) verdicts() *history {
	for _, p := range r.phases {
		if rounds, ok := any(p).(historian); ok {
			return rounds.history()
		}
	}
	return nil
}

// History counts the rounds so far by verdict.
func (r *run[P]) History() History {
	v := r.verdicts()
	if v == nil {
		return History{}
	}
	return History{v.Accepted, v.Rejected, v.Void, v.inARow}
}

// Stalled explains why the study cannot continue because federation.max_rejected rounds in a row
// failed ([History]). It returns "" otherwise.
func (r *run[P]) Stalled() string {
	most := r.course.study.Federation.MaxRejected
	if h := r.History(); most > 0 && h.InARow >= most {
		return stalled(h.InARow, r.last)
	}
	return ""
}

// Resume forgets the failed rounds in a row, so that a changed study can continue.
func (r *run[P]) Resume() {
	if v := r.verdicts(); v != nil {
		v.inARow = 0
	}
}
