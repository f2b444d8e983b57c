package scale

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// A Scaling describes the passes that find the scale of a study's columns. It is immutable.
// [Server] and [Site] are its state machines.
//
// # The releases
//
// In every pass a value of column j is clamped to the present bounds, which are public, and mapped
// to z_j in [-1, 1]. All passes but the last are searches: they count the values of every column
// in 64 equal bins, and narrow the bounds to the bins that contain most values. (Karwa and Vadhan,
// "Finite Sample Differentially Private Confidence Intervals", 2018, find the range of a normal
// sample in this way.) One search narrows the bounds by up to a factor of twenty. The last pass
// releases means and mean squares within these bounds. Let k be the number of columns.
//
//   - If the unit is the record, a record adds a vector to its client's sum. In a search, the
//     vector has a 1 as its first element and, for every column, a 1 in one of 64 places. In the
//     last pass the vector is (1, z_1..z_k, z_1²..z_k²). The client adds all of the noise. The
//     norms are √(1+k) and at most √(1+2k). The number of records is private, and is released as
//     the first element.
//   - If the unit is the client, a client adds the mean of these vectors over its records, without
//     the first element, and a noise share. The norms are at most √k and √(2k) for any number of
//     records. All clients have the same weight, so mean and spread are those of the average
//     client, not of the average record. Under zero-out the participants are public.
//   - If there is no unit, a client adds up the vectors of its records as for the unit record,
//     without noise.
//
// If the unit is the person, a client adds up the vectors of all rows of a person that it uses. If
// it uses at most r rows, the norms are r times the norms of a record (see [dpmech.Config]).
//
// Adding, removing or zeroing a record or client changes the sum by at most this norm, and
// replacing one by at most twice as much. The passes are Gaussian releases, which compose with each
// other and with the rounds.
type Scaling struct {
	study  *study.Study
	roster phase.Roster
	digest phase.Digest

	search  step // all passes but the last
	moments step
}

type step struct {
	perColumn int                 // elements of a release for one column
	bound     float64             // bound on the squared norm of a record's contribution for one column
	size      int                 // number of elements of a release
	mechanism *dpmech.GaussianSum // nil if the privacy unit is none
	lattice   dpmech.Lattice
	within    dpmech.Range // bound on elements of releases and sums
}

// bins is the number of equal parts of a column's bounds in which values are counted.
const bins = 64

// New returns the scaling of a study, which must have a private standardisation. clients must name
// each client once.
func New(st *study.Study, clients []phase.ClientID) (*Scaling, error) {
	roster, err := phase.NewRoster(st, clients)
	if err == nil && st.Standardisation == nil {
		err = errors.New(`nothing is to be standardised: model.standardise is not "private"`)
	}
	var s *Scaling
	if err == nil {
		s, err = Derive(st, roster)
	}
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", st.Name, err)
	}
	return s, nil
}

// Derive is [New] for a roster that was already checked.
func Derive(st *study.Study, roster phase.Roster) (*Scaling, error) {
	h := sha256.New()
	io.WriteString(h, "fedpvi/scaling/v1")
	base := roster.Digest(st, nil)
	h.Write(base[:])
	s := &Scaling{
		study: st, roster: roster, digest: phase.Digest(h.Sum(nil)),
		search:  step{perColumn: bins, bound: 1}, // a value adds 1 to one bin
		moments: step{perColumn: 2, bound: 2},    // z and z² are at most 1 in absolute value
	}
	for _, step := range []*step{&s.search, &s.moments} {
		if err := s.derive(step); err != nil {
			return nil, fmt.Errorf("standardise: %w", err)
		}
	}
	return s, nil
}

func (s *Scaling) derive(step *step) error {
	k := s.columns()
	step.size = s.first() + k*step.perColumn
	clients := int64(len(s.roster.Clients))
	if s.study.Privacy.Unit == study.None {
		_, bits := math.Frexp(float64(clients) * float64(s.study.Federation.MaxRecords))
		step.within = dpmech.Range{Signal: 1 << phase.MessageBits / clients}
		var err error
		step.lattice, err = dpmech.NewLattice(phase.MessageBits - bits)
		return err
	}
	var err error
	clip := math.Sqrt(float64(s.first()) + float64(k)*step.bound)
	if step.mechanism, err = dpmech.NewGaussianSum(s.config(step.size, clip)); err != nil {
		return err
	}
	step.lattice, step.within = step.mechanism.Lattice(), phase.RangeOf(s.study, step.mechanism, len(s.roster.Clients))
	return nil
}

func (s *Scaling) config(dim int, clip float64) dpmech.Config {
	privacy, federation := s.study.Privacy, s.study.Federation
	cfg := dpmech.Config{
		Dim:             dim,
		Clip:            clip,
		NoiseMultiplier: s.study.Standardisation.NoiseMultiplier,
		Shares:          1,
		Terms:           federation.MaxRecords,
		Releases:        len(s.roster.Clients),
		Adjacency:       privacy.Adjacency,
		PerUnit:         privacy.Rows() * s.study.Holders(len(s.roster.Clients)),
	}
	if privacy.Unit == study.Client {
		cfg.Terms = 1
	}
	if federation.Opens == study.OpenSums {
		cfg.Shares = s.roster.Fewest - s.roster.Colluders
	}
	if cfg.NoiseMultiplier == 0 {
		// All passes together cost the scale phase's share of the μ² of the study's target.
		mu := accountant.GaussianMu(privacy.Epsilon, privacy.Delta)
		passes := s.Passes() * s.study.MessagesOfPerson(len(s.roster.Clients))
		each := mu * math.Sqrt(s.study.Standardisation.Share/float64(passes))
		cfg.NoiseMultiplier = privacy.Adjacency.Factor() * float64(cfg.PerUnit) / each
	}
	return cfg
}

// step returns the description of the releases in pass number n.
func (s *Scaling) step(n int) *step {
	if n < s.Passes() {
		return &s.search
	}
	return &s.moments
}

// first returns the index of the first column's elements. With records as the unit, element 0 is
// their number.
func (s *Scaling) first() int {
	if s.study.Privacy.Unit == study.Client {
		return 0
	}
	return 1
}

func (s *Scaling) columns() int { return len(s.study.Standardisation.Columns) }

// Size returns the number of elements of a release in pass n, counted from 1.
func (s *Scaling) Size(n int) int { return s.step(n).size }

// ReleasesSize returns the number of elements of all clients' releases in pass n, or 0 if outcomes
// have none. See [phase.Publishes].
func (s *Scaling) ReleasesSize(n int) int {
	if !phase.Publishes(s.study, len(s.roster.Clients), s.Size(n)) {
		return 0
	}
	return len(s.roster.Clients) * s.Size(n)
}

// Fetched reports whether readers fetch the releases of pass n separately because they are too long
// for the outcome. See [phase.Fetched].
func (s *Scaling) Fetched(n int) bool {
	return phase.Fetched(s.study, len(s.roster.Clients), s.Size(n))
}

// checkReleases returns a refusal if the releases in an outcome do not add up.
func (s *Scaling) checkReleases(o *Outcome) error {
	if o.Sum == nil || s.ReleasesSize(o.Number) == 0 {
		if o.Releases != nil {
			return phase.Refuse("the outcome of pass %d has releases, which this study does not publish", o.Number)
		}
		return nil
	}
	return phase.CheckReleases(fmt.Sprintf("pass %d", o.Number), o.Releases, o.Sum, len(o.Participants), s.Limit(o.Number))
}

// Limit returns the largest absolute value of an element of a release in pass n.
func (s *Scaling) Limit(n int) int64 { return s.step(n).within.Of(1) }

// Passes returns the number of passes. Every client makes one release in each pass.
func (s *Scaling) Passes() int { return s.study.Standardisation.Rounds }

// Digest returns the digest that identifies the scaling.
func (s *Scaling) Digest() phase.Digest { return s.digest }

// Study returns the study, whose scale is not yet known.
func (s *Scaling) Study() *study.Study { return s.study }

// Roster returns the clients, sorted by name. The slice is not a copy.
func (s *Scaling) Roster() []phase.ClientID { return s.roster.Clients }

// Mechanism returns the mechanism of pass n, counted from 1, or nil without a privacy guarantee.
func (s *Scaling) Mechanism(n int) *dpmech.GaussianSum { return s.step(n).mechanism }

// EventFor returns the cost of all passes under an adjacency. shares is the number of noise shares
// that the observer cannot subtract. The study must have a privacy guarantee.
func (s *Scaling) EventFor(shares int, adjacency accountant.Adjacency) accountant.Event {
	return accountant.Composed{
		accountant.Repeated{Event: s.search.mechanism.EventFor(shares, adjacency), Times: s.Passes() - 1},
		s.moments.mechanism.EventFor(shares, adjacency),
	}
}
