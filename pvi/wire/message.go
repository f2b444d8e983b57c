package wire

import (
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/scale"
)

// AppendPlan appends a plan to b.
func AppendPlan(b []byte, m *pvi.Plan) []byte {
	size := headSize + len(m.Protocol) + numberSize + 3*lengthSize + wideSize*len(m.Lambda) + numberSize*len(m.Centre)
	b = slices.Grow(b, size+namesSize(m.Participants)) // λ may be long
	b = appendInt(append(begin(b, Plan), m.Protocol[:]...), m.Number)
	return appendNames(appendInts(appendWides(b, m.Lambda), m.Centre), m.Participants)
}

// ReadPlan reads a plan. Like the other Read functions, it returns [pvi.Refused] for bytes that it
// cannot read.
func ReadPlan(b []byte, l Limits) (*pvi.Plan, error) {
	r := open(b, Plan, l)
	m := &pvi.Plan{Protocol: r.digest(), Number: r.int(), Lambda: r.wides(), Centre: r.ints(), Participants: r.names()}
	return checked(m, r, Plan)
}

// AppendRelease appends a release to b.
func AppendRelease(b []byte, m *pvi.Release) []byte {
	b = append(begin(b, Release), m.Protocol[:]...)
	return appendInts(appendName(appendInt(b, m.Number), m.Client), m.Change)
}

// ReadRelease reads a release.
func ReadRelease(b []byte, l Limits) (*pvi.Release, error) {
	r := open(b, Release, l)
	m := &pvi.Release{Protocol: r.digest(), Number: r.int(), Client: r.name(), Change: r.ints()}
	return checked(m, r, Release)
}

// AppendOutcome appends an outcome to b.
func AppendOutcome(b []byte, m *pvi.Outcome) []byte {
	size := headSize + len(m.Protocol) + 2*numberSize + 1 + 4*lengthSize + numberSize*(len(m.Centre)+len(m.Sum)+len(m.Releases))
	b = append(begin(slices.Grow(b, size+namesSize(m.Participants)), Outcome), m.Protocol[:]...)
	b = appendVerdict(appendInt(appendInt(b, m.Sequence), m.Number), m.Verdict)
	b = appendInts(appendNames(appendInts(b, m.Centre), m.Participants), m.Sum)
	return appendReleases(b, m.Releases)
}

// ReadOutcome reads an outcome.
func ReadOutcome(b []byte, l Limits) (*pvi.Outcome, error) {
	r := open(b, Outcome, l)
	m := &pvi.Outcome{
		Protocol: r.digest(), Sequence: r.int(), Number: r.int(), Verdict: r.verdict(),
		Centre: r.ints(), Participants: r.names(), Sum: r.ints(), Releases: r.releases(),
	}
	return checked(m, r, Outcome)
}

// AppendScalePlan appends the plan of a pass to b.
func AppendScalePlan(b []byte, m *scale.Plan) []byte {
	b = append(begin(b, ScalePlan), m.Scaling[:]...)
	return appendBounds(appendInt(b, m.Number), m.Bounds)
}

// ReadScalePlan reads the plan of a pass.
func ReadScalePlan(b []byte, l Limits) (*scale.Plan, error) {
	r := open(b, ScalePlan, l)
	return checked(&scale.Plan{Scaling: r.digest(), Number: r.int(), Bounds: r.bounds()}, r, ScalePlan)
}

// AppendScaleRelease appends the release of a pass to b.
func AppendScaleRelease(b []byte, m *scale.Release) []byte {
	b = append(begin(b, ScaleRelease), m.Scaling[:]...)
	return appendInts(appendName(appendInt(b, m.Number), m.Client), m.Sum)
}

// ReadScaleRelease reads the release of a pass.
func ReadScaleRelease(b []byte, l Limits) (*scale.Release, error) {
	r := open(b, ScaleRelease, l)
	m := &scale.Release{Scaling: r.digest(), Number: r.int(), Client: r.name(), Sum: r.ints()}
	return checked(m, r, ScaleRelease)
}

// AppendScaleOutcome appends the outcome of a pass to b.
func AppendScaleOutcome(b []byte, m *scale.Outcome) []byte {
	b = append(begin(b, ScaleOutcome), m.Scaling[:]...)
	b = appendVerdict(appendInt(b, m.Number), m.Verdict)
	return appendReleases(appendInts(appendNames(b, m.Participants), m.Sum), m.Releases)
}

// ReadScaleOutcome reads the outcome of a pass.
func ReadScaleOutcome(b []byte, l Limits) (*scale.Outcome, error) {
	r := open(b, ScaleOutcome, l)
	m := &scale.Outcome{Scaling: r.digest(), Number: r.int(), Verdict: r.verdict(), Participants: r.names(), Sum: r.ints(), Releases: r.releases()}
	return checked(m, r, ScaleOutcome)
}

// AppendOneStepPlan appends the plan of the last round to b.
func AppendOneStepPlan(b []byte, m *lastround.Plan) []byte {
	return appendFloats(append(begin(b, OneStepPlan), m.Round[:]...), m.Point)
}

// ReadOneStepPlan reads the plan of the last round.
func ReadOneStepPlan(b []byte, l Limits) (*lastround.Plan, error) {
	r := open(b, OneStepPlan, l)
	return checked(&lastround.Plan{Round: r.digest(), Point: r.floats()}, r, OneStepPlan)
}

// AppendOneStepRelease appends the release of the last round to b.
func AppendOneStepRelease(b []byte, m *lastround.Release) []byte {
	b = appendName(append(begin(b, OneStepRelease), m.Round[:]...), m.Client)
	return appendInts(appendInts(b, m.Gradient), m.Curvature)
}

// ReadOneStepRelease reads the release of the last round.
func ReadOneStepRelease(b []byte, l Limits) (*lastround.Release, error) {
	r := open(b, OneStepRelease, l)
	m := &lastround.Release{Round: r.digest(), Client: r.name(), Gradient: r.ints(), Curvature: r.ints()}
	return checked(m, r, OneStepRelease)
}

// AppendOneStepOutcome appends the outcome of the last round to b.
func AppendOneStepOutcome(b []byte, m *lastround.Outcome) []byte {
	b = appendVerdict(append(begin(b, OneStepOutcome), m.Round[:]...), m.Verdict)
	b = appendNames(appendFloats(b, m.Point), m.Participants)
	return appendReleases(appendInts(appendInts(b, m.Gradient), m.Curvature), m.Releases)
}

// ReadOneStepOutcome reads the outcome of the last round.
func ReadOneStepOutcome(b []byte, l Limits) (*lastround.Outcome, error) {
	r := open(b, OneStepOutcome, l)
	m := &lastround.Outcome{
		Round: r.digest(), Verdict: r.verdict(), Point: r.floats(), Participants: r.names(),
		Gradient: r.ints(), Curvature: r.ints(), Releases: r.releases(),
	}
	return checked(m, r, OneStepOutcome)
}

// checked returns m, or an error if r failed or bytes are left.
func checked[M any](m *M, r *reader, k Kind) (*M, error) {
	if err := r.done(k); err != nil {
		return nil, err
	}
	return m, nil
}
