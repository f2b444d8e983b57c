package scale

import (
	"fmt"
	"math"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/internal/guard"
	"fedpvi/internal/special"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Site owns one client's records in the scale phase. It answers plans and computes the bounds
// from the outcomes.
//
// A release changes the site's state. The caller must save the state before it sends a byte of the
// release. A lost release must be sent again byte for byte.
type Site struct {
	scaling *Scaling
	id      phase.ClientID
	records *shard.Records

	scale    *scale
	answered int          // last pass that the client answered
	sent     phase.Digest // hash of its release, if published

	row   []float64 // contribution of one record
	noise dpmech.Noise
}

// NewSite returns the site of a client before the first pass. A client may have any number of
// records.
func NewSite(s *Scaling, id phase.ClientID, records *shard.Records) (*Site, error) {
	if _, ok := s.roster.Index(id); !ok {
		return nil, fmt.Errorf("client %q is not in the roster", id)
	}
	return &Site{scaling: s, id: id, records: records.Keep(s.study), scale: newScale(s)}, nil
}

// ID returns the name of the client.
func (s *Site) ID() phase.ClientID { return s.id }

// Passes returns the number of the client's releases, each of which is charged.
func (s *Site) Passes() int { return s.answered }

// Propose answers a plan with noise from src. It draws and charges the noise before it reads the
// records. For an invalid plan the error is [phase.Refused], and nothing is computed.
func (s *Site) Propose(r *Release, plan *Plan, src *dpmech.Stream) error {
	r.Sum = r.Sum[:0]
	if err := s.Check(plan); err != nil {
		return err
	}
	s.answered = plan.Number
	step := s.scaling.step(plan.Number)
	dst := make([]int64, step.size)
	s.row = make([]float64, step.size)
	if err := s.gate(dst, step, src); err != nil {
		return fmt.Errorf("client %s: standardise: %w", s.id, err)
	}
	if s.scaling.ReleasesSize(plan.Number) > 0 {
		s.sent = phase.HashOf(dst)
	}
	*r = Release{s.scaling.digest, plan.Number, s.id, dst}
	return nil
}

// Check returns the error with which Propose would refuse the plan, or nil.
func (s *Site) Check(plan *Plan) error {
	c := s.scaling
	switch {
	case plan.Scaling != c.digest:
		return phase.Refuse("the plan is for scaling %.16s, this is %.16s", plan.Scaling, c.digest)
	case plan.Number != s.scale.passes+1 || plan.Number > c.Passes():
		return phase.Refuse("pass %d is not the next one", plan.Number)
	case plan.Number <= s.answered:
		return phase.Refuse("client %q has answered pass %d", s.id, s.answered)
	case !slices.Equal(plan.Bounds, s.scale.bounds()):
		return phase.Refuse("the bounds of pass %d do not follow from the outcomes that client %q has seen", plan.Number, s.id)
	}
	return nil
}

// gate writes the noisy sum to dst. Numbers leave the site only through this method.
func (s *Site) gate(dst []int64, step *step, src *dpmech.Stream) error {
	exact := make([]int64, len(dst)) // sum without noise, which must not leave this function
	switch s.scaling.study.Privacy.Unit {
	case study.Record, study.Person:
		return step.mechanism.Release(dst, exact, src, func(add func([]float64) error) error {
			for i := range s.records.Len() {
				if err := add(s.contribution(i, step)); err != nil {
					return err
				}
			}
			return nil
		})
	case study.Client:
		step.mechanism.Draw(&s.noise, src)
		return step.mechanism.ReleaseOne(dst, exact, &s.noise, s.average(step))
	default:
		return step.lattice.Truncate(dst, s.saturated(step), step.within.Of(1))
	}
}

// contribution returns a record's contribution to the sum. It has a NaN and must not be added if a
// value is not finite or the computation panics. The slice is valid until the next call.
func (s *Site) contribution(i int, step *step) []float64 {
	if guard.Run(func() { s.contribute(i, step) }) != nil {
		s.row[0] = math.NaN()
	}
	return s.row
}

func (s *Site) contribute(i int, step *step) {
	clear(s.row)
	at := s.scaling.first()
	if at == 1 {
		s.row[0] = 1
	}
	record := s.records.Row(i)
	for k, column := range s.scaling.study.Standardisation.Columns {
		b := s.scale.columns[k].Bounds
		z := (record[column] - middleOf(b)) / ((b.High - b.Low) / 2)
		z = min(max(z, -1), 1) // min and max keep a NaN
		part := s.row[at+k*step.perColumn:][:step.perColumn]
		if step == &s.scaling.search {
			mark(part, z)
		} else {
			part[0], part[1] = z, z*z
		}
	}
}

func mark(counts []float64, z float64) {
	if math.IsNaN(z) {
		counts[0] = z // NaN if a value is not finite; the record then counts as zero
		return
	}
	bin := int((z + 1) / 2 * float64(len(counts)))
	counts[min(bin, len(counts)-1)] = 1
}

// total returns the sum of all contributions that are finite.
func (s *Site) total(step *step) []float64 {
	sum := make([]float64, step.size)
	for i := range s.records.Len() {
		if row := s.contribution(i, step); special.Finite(row) {
			for j, x := range row {
				sum[j] += x
			}
		}
	}
	return sum
}

// saturated returns the sum of all contributions, clamped to federation.max_records, for which a
// message has room.
func (s *Site) saturated(step *step) []float64 {
	sum, most := s.total(step), float64(s.scaling.study.Federation.MaxRecords)
	for j, x := range sum {
		sum[j] = min(max(x, -most), most)
	}
	return sum
}

// average returns the mean of the contributions, or zero if there are no records.
func (s *Site) average(step *step) []float64 {
	mean := s.total(step)
	for j := range mean {
		mean[j] /= float64(max(1, s.records.Len()))
	}
	return mean
}

// Settle applies an outcome. It must be called for every outcome, in order. If the outcome
// contradicts the site's state, the error is [phase.Refused], and the client must stop.
func (s *Site) Settle(o *Outcome) error {
	c := s.scaling
	if o.Scaling != c.digest {
		return phase.Refuse("the outcome is for scaling %.16s, this is %.16s", o.Scaling, c.digest)
	}
	if o.Number != s.scale.passes+1 || o.Number > c.Passes() {
		return phase.Refuse("the outcome of pass %d came where that of pass %d was next", o.Number, s.scale.passes+1)
	}
	if !c.roster.Selects(o.Participants) {
		return phase.Refuse("the outcome of pass %d counts clients that are not in the roster, or not in order", o.Number)
	}
	at, took := slices.BinarySearch(o.Participants, s.id)
	if took && s.answered != o.Number {
		return phase.Refuse("the outcome of pass %d counts an answer that client %q did not give", o.Number, s.id)
	}
	switch o.Verdict {
	case phase.Void:
		if o.Sum != nil {
			return phase.Refuse("the outcome of pass %d is void and has a sum", o.Number)
		}
	case phase.Accepted:
		if len(o.Participants) < c.roster.Fewest {
			return phase.Refuse("the sum of pass %d was opened for %d answers, fewer than the %d for which noise shares were made", o.Number, len(o.Participants), c.roster.Fewest)
		}
		if err := c.step(o.Number).checkSum(o.Sum, len(o.Participants)); err != nil {
			return err
		}
	default:
		return phase.Refuse("the verdict on pass %d is %q", o.Number, o.Verdict)
	}
	if err := c.checkReleases(o); err != nil {
		return err
	}
	if size := len(o.Sum); took && o.Releases != nil && phase.HashOf(o.Releases[at*size:][:size]) != s.sent {
		return phase.Refuse("the outcome of pass %d has another release of client %q than the one that this client sent: the coordinator has changed it", o.Number, s.id)
	}
	s.scale.follow(o.Sum, len(o.Participants))
	return nil
}

// Scaled returns the study with the scale that was found. Every pass must have an outcome.
func (s *Site) Scaled() (*study.Study, error) { return s.scale.scaled() }

// Columns returns the scale of each column so far. The slice is not a copy.
func (s *Site) Columns() []Column { return s.scale.columns }

// Followed returns the number of outcomes that the site has applied.
func (s *Site) Followed() int { return s.scale.passes }

// Foretell returns the plan of the next pass, computed from the outcomes before it.
func (s *Site) Foretell() Plan { return Plan{s.scaling.digest, s.scale.passes + 1, s.scale.bounds()} }

// ForetellOutcome returns the outcome of the next pass for the given answers and opened sum.
func (s *Site) ForetellOutcome(participants []phase.ClientID, sum []int64) Outcome {
	return Outcome{Scaling: s.scaling.digest, Number: s.scale.passes + 1, Verdict: phase.Accepted, Participants: participants, Sum: sum}
}
