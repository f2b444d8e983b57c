package session

// A run is the part that [Server] and [Site] have in common: the course, and the state machines of
// all phases that have begun. P is serverPhase or sitePhase.
type run[P machine] struct {
	course  *course
	phases  []P    // phases that have begun, in order
	planned int    // number of published plans
	last    *Round // the round that ended last; nil in a site
}

// A machine is the state machine of a phase, in a server or a site.
type machine interface {
	outcomes() int // number of outcomes of the phase so far
	report(*Result) error
	saver
}

// advance calls begin to start the next phase, once all plans of the earlier phases have outcomes.
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

// Plans returns the number of plans published so far, and the number of all plans.
func (r *run[P]) Plans() (soFar, all int) { return r.planned, r.course.plans() }

// Digest identifies the rules that currently apply. They are those of the scale phase and, after
// it, those of the protocol for the scale that was found.
func (r *run[P]) Digest() [32]byte { return r.course.digest }

// MaxRelease returns the length of the longest release in bytes.
func (r *run[P]) MaxRelease() int { return r.course.maxRelease() }

// MaxEntry returns the length of the longest entry body in bytes.
func (r *run[P]) MaxEntry() (size int) {
	for _, p := range r.course.phases {
		size = max(size, p.maxEntry())
	}
	return size
}

// VectorSize returns the number of elements of a vector, which is the same in all phases.
func (r *run[P]) VectorSize() int { return r.course.public.VectorSize() }

// SumOf returns the sum in an outcome from the transcript.
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
		// only the last pass of the scale phase has releases of a different size
		if p.fetched(1) || p.fetched(p.plans()) {
			return true
		}
	}
	return false
}

// Counted returns the clients whose answers the outcome e contains, together with the hashes of the
// releases in it.
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

// History returns how many rounds have ended so far with each verdict.
func (r *run[P]) History() History {
	v := r.verdicts()
	if v == nil {
		return History{}
	}
	return History{v.Accepted, v.Rejected, v.Void, v.inARow}
}

// Stalled explains why the study cannot continue after federation.max_rejected failed rounds in a
// row ([History]). If it can continue, Stalled returns "".
func (r *run[P]) Stalled() string {
	most := r.course.study.Federation.MaxRejected
	if h := r.History(); most > 0 && h.InARow >= most {
		return stalled(h.InARow, r.last)
	}
	return ""
}

// Resume resets the count of consecutive failed rounds, so that a changed study can continue.
func (r *run[P]) Resume() {
	if v := r.verdicts(); v != nil {
		v.inARow = 0
	}
}
