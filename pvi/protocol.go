package pvi

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
)

// A ClientID names a client.
type ClientID = phase.ClientID

const (
	// dampingBits is the precision of the damping: α is rounded to a multiple
	// of 2^-dampingBits.
	dampingBits = 20

	// headroomBits lets a change be that much larger than the largest factor
	// that the records could ask for, as it may be on the way to a fixed point.
	headroomBits = 6

	// wideBits is what an element of λ has room for.
	wideBits = 126
)

// A Protocol is what a study comes to for a roster of clients: everything that
// server and sites must agree on before the first round. It does not change.
type Protocol struct {
	study  *study.Study
	roster phase.Roster
	digest Digest
	model  *fit.Model
	family gaussian.Family
	prior  []float64 // nil if it is long: see priorAt

	coordinates *lambda.Coordinates // of changes

	clients *dpmech.GaussianSum // hides a client's change; nil unless the unit is the client
	records *dpmech.GaussianSum // hides a record's statistics; nil unless they are released
	parts   *dpmech.GaussianSum // hides a record's part's change; nil unless clients deal their records
	sampled *dpmech.SampledSum  // hides a record's gradients; nil unless they are released
	descent *Descent            // of the solver that releases gradients

	accounted *dpmech.SampledSum  // what they are claimed to cost; sampled, unless the sampling is published
	start     *dpmech.GaussianSum // hides the statistics from which clients start; nil if there are none

	// The phases beside the rounds, each a list of one, or of none if the study has no
	// such phase. They take their share of the study's budget.
	before []*scale.Scaling
	after  []*lastround.Round

	lattice  dpmech.Lattice // of messages
	limit    int64          // no element of a message reaches it
	exponent int            // an element n of λ stands for n·2^-exponent
}

// NewProtocol derives the protocol. The roster must name each client once. The
// scale of a study that asks for a standardisation must have been found, by a
// [Scaling].
func NewProtocol(st *study.Study, roster []ClientID) (*Protocol, error) {
	p := &Protocol{study: st}
	var err error
	if p.roster, err = phase.NewRoster(st, roster); err != nil {
		return nil, fmt.Errorf("study %s: %w", st.Name, err)
	}
	p.digest = p.roster.Digest(st, st.Scales())
	steps := []func() error{p.deriveScaling, p.deriveModel, p.deriveMechanism, p.deriveLattice}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("study %s: %w", st.Name, err)
		}
	}
	return p, nil
}

func (p *Protocol) deriveMechanism() error {
	var err error
	switch p.study.Privacy.Unit {
	case study.Record:
		if p.study.Inference.Sampled() {
			return p.deriveSampled()
		}
		if k := p.study.Inference.Partitions.Count; k > 0 {
			p.parts, err = p.calibrate(dpmech.Config{
				Dim:        p.family.Size(),
				Clip:       p.changeClip(),
				Shares:     p.shares(),
				Terms:      k,
				Releases:   len(p.roster.Clients),
				Aggregates: true,
			})
			return err
		}
		p.records, err = p.calibrate(dpmech.Config{
			Dim:      p.model.Linear().StatisticsSize(),
			Clip:     p.recordClip(),
			Shares:   1,
			Terms:    p.study.Federation.MaxRecords,
			Releases: 1,
		})
	case study.Client:
		p.clients, err = p.calibrate(dpmech.Config{
			Dim:      p.family.Size(),
			Clip:     p.changeClip(),
			Shares:   p.shares(),
			Terms:    1,
			Releases: len(p.roster.Clients),
		})
	}
	return err
}

// calibrate completes cfg with the adjacency and the noise multiplier of the
// study, or the one that its target asks for, and makes the mechanism.
func (p *Protocol) calibrate(cfg dpmech.Config) (*dpmech.GaussianSum, error) {
	privacy := p.study.Privacy
	cfg.Adjacency = privacy.Adjacency
	cfg.NoiseMultiplier = privacy.NoiseMultiplier
	if cfg.NoiseMultiplier == 0 {
		target := accountant.Target{Epsilon: privacy.Epsilon, Delta: privacy.Delta}
		calibration, err := accountant.CalibrateNoise(target, func(sigma float64) (accountant.Event, error) {
			trial := cfg
			trial.NoiseMultiplier = sigma
			m, err := dpmech.NewGaussianSum(trial)
			if err != nil {
				return nil, err
			}
			return p.promised(m), nil
		})
		if err != nil {
			return nil, fmt.Errorf("%w (the noise multiplier follows from privacy.epsilon = %g: a lower epsilon raises it)", err, privacy.Epsilon)
		}
		cfg.NoiseMultiplier = calibration.Value
	}
	m, err := dpmech.NewGaussianSum(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w (a release is a client's answer, a vector a record's statistics, or the change of a client or of a part of its records)", err)
	}
	return m, nil
}

// deriveScaling derives what the scale was found with, and refuses a study
// without the scale that it asks for.
func (p *Protocol) deriveScaling() error {
	if p.study.Standardisation == nil {
		return nil
	}
	if !p.study.HasScale() {
		return errors.New("the scale of its columns has to be found first, as model.standardise = \"private\" says")
	}
	s, err := scale.Derive(p.study, p.roster)
	p.before = []*scale.Scaling{s}
	return err
}

// Before returns the phase before the rounds, in which the scale of the study's columns
// was found. The list is empty if nothing was to be found.
func (p *Protocol) Before() []*scale.Scaling { return p.before }

// After returns the phase after the rounds, in which the study's one-step posterior is
// found. The list is empty if the study asks for none.
func (p *Protocol) After() []*lastround.Round { return p.after }

// deriveLattice chooses the grid of messages, and checks that no sum of them and
// no λ can overflow.
func (p *Protocol) deriveLattice() error {
	if p.Summed() {
		p.lattice, p.exponent = p.sampled.Lattice(), lambdaExponent
		p.limit = p.sampled.MaxTotal() / int64(len(p.roster.Clients))
		return nil
	}
	var total float64 // bound on the absolute value of a sum of messages
	if m := p.changes(); m != nil {
		p.lattice = m.Lattice()
		total = float64(m.MaxTotal())
		p.limit = m.MaxTotal() / int64(len(p.roster.Clients))
	} else {
		largest := float64(p.study.Federation.MaxRecords) * p.recordBound()
		if p.records != nil {
			largest += p.records.Lattice().Float(p.records.MaxTotal())
		}
		_, bits := math.Frexp(largest * float64(len(p.roster.Clients)))
		var err error
		if p.lattice, err = dpmech.NewLattice(phase.MessageBits - headroomBits - bits); err != nil {
			return err
		}
		total = 1 << phase.MessageBits
		p.limit = 1 << phase.MessageBits / int64(len(p.roster.Clients))
	}
	p.exponent = p.lattice.Exponent() + dampingBits
	bits := math.Log2(total) + dampingBits + math.Log2(float64(p.Plans()))
	if p.centred() {
		p.exponent += lambda.CentreBits
		bits += lambda.CentreBits + lambda.CentreLimit + math.Log2(float64(p.model.Dim()+1))
	}
	if bits > wideBits {
		return fmt.Errorf("λ could need %.0f bits and has %d: lower the number of rounds, clients or records", bits, wideBits)
	}
	return nil
}

// Digest returns the protocol's identity.
func (p *Protocol) Digest() Digest { return p.digest }

// Study returns the study.
func (p *Protocol) Study() *study.Study { return p.study }

// Roster returns the clients in order. It is not a copy.
func (p *Protocol) Roster() []ClientID { return p.roster.Clients }

// Model returns what is estimated, on the study's scale.
func (p *Protocol) Model() *fit.Model { return p.model }

// Family returns the family of q.
func (p *Protocol) Family() gaussian.Family { return p.family }

// Mechanism returns what hides a client's change, the change of a part of its records,
// or a record's statistics; nil if the study makes no promise, or [Protocol.Sampled]
// hides gradients.
func (p *Protocol) Mechanism() *dpmech.GaussianSum {
	if m := p.changes(); m != nil {
		return m
	}
	return p.records
}

// changes returns what hides changes of natural parameters, nil if they are not hidden,
// or were computed from what is.
func (p *Protocol) changes() *dpmech.GaussianSum {
	if p.clients != nil {
		return p.clients
	}
	return p.parts
}

// MinClients returns U_min, the fewest answers for which a sum is opened.
func (p *Protocol) MinClients() int { return p.roster.Fewest }

// Plans returns the number of plans of the whole study: one a round if
// synchronous, one for every client in every round if not.
func (p *Protocol) Plans() int {
	n := p.study.Inference.Rounds
	if p.study.Inference.Schedule != study.Synchronous {
		n *= len(p.roster.Clients)
	}
	return n
}

func (p *Protocol) centred() bool { return p.study.Privacy.Centred }

// round returns the round, counted from 1, that plan number n belongs to.
func (p *Protocol) round(n int) int {
	if p.study.Inference.Schedule == study.Synchronous {
		return n
	}
	return (n-1)/len(p.roster.Clients) + 1
}

// damping returns α for plan number n in units of 2^-dampingBits.
func (p *Protocol) damping(n int) int64 {
	alpha := p.study.Inference.Damping.At(p.round(n))
	return max(1, int64(math.Round(math.Ldexp(alpha, dampingBits))))
}

// clientIndex returns the client's place in the roster.
func (p *Protocol) clientIndex(id ClientID) (int, bool) { return p.roster.Index(id) }

// fewest returns the number of answers below which a round is void: U_min, or
// one where clients are asked one at a time.
func (p *Protocol) fewest() int {
	if p.study.Inference.Schedule == study.Synchronous {
		return p.roster.Fewest
	}
	return 1
}
