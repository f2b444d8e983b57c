package pvi

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/method"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
)

// A ClientID names a client.
type ClientID = phase.ClientID

// A Protocol holds all settings that the server and the sites share. It is computed from a study
// and a roster of clients, and it is immutable.
type Protocol struct {
	study  *study.Study
	roster phase.Roster
	digest Digest

	setting  *method.Setting
	method   method.Method // method of the rounds
	messages method.Messages

	// before and after hold the scale phase and the last round, if the study has them. Their
	// releases use part of the study's privacy budget.
	before []*scale.Scaling
	after  []*lastround.Round

	// The fields below are copied from setting and messages.
	model       *fit.Model
	family      gaussian.Family
	coordinates *lambda.Coordinates
	exponent    int
}

// NewProtocol returns the protocol of a study. The roster must name each client once. If the study
// standardises columns privately, st must contain the scale from the scale phase ([scale.Scaling]).
func NewProtocol(st *study.Study, roster []ClientID) (*Protocol, error) {
	p := &Protocol{study: st}
	var err error
	if p.roster, err = phase.NewRoster(st, roster); err != nil {
		return nil, fmt.Errorf("study %s: %w", st.Name, err)
	}
	p.digest = p.roster.Digest(st, st.Scales())
	for _, step := range []func() error{p.deriveScaling, p.deriveSetting, p.deriveMethod, p.checkSums, p.checkCombine} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("study %s: %w", st.Name, err)
		}
	}
	return p, nil
}

func (p *Protocol) deriveSetting() (err error) {
	p.setting, err = method.NewSetting(p.study, p.roster, p.digest)
	if err != nil {
		return err
	}
	p.model, p.family, p.coordinates = p.setting.Model, p.setting.Family, p.setting.Coordinates
	return nil
}

// deriveMethod sets p.method and p.after. If the study gives no noise multiplier, it chooses one
// with which all phases together meet the privacy target. An unsound method ([Protocol.Sound])
// meets it with its claimed cost.
func (p *Protocol) deriveMethod() error {
	draft, err := draftOf(p.setting)
	if err != nil {
		return err
	}
	privacy := p.study.Privacy
	multiplier := privacy.NoiseMultiplier
	if multiplier == 0 && privacy.Epsilon > 0 {
		target := accountant.Target{Epsilon: privacy.Epsilon, Delta: privacy.Delta}
		calibration, err := accountant.CalibrateNoise(target, func(sigma float64) (accountant.Event, error) {
			if err := p.complete(draft, sigma); err != nil {
				return nil, err
			}
			event, err := p.eventOf(method.Claimed, p.setting.Shares(), privacy.Adjacency, p.Releases())
			return p.atHolders(event), err
		})
		if err != nil {
			return fmt.Errorf("%w (the noise multiplier follows from privacy.epsilon = %g: a lower epsilon raises it)", err, privacy.Epsilon)
		}
		multiplier = calibration.Value
	}
	return p.complete(draft, multiplier)
}

func (p *Protocol) complete(draft method.Draft, multiplier float64) (err error) {
	if p.method, err = draft(multiplier); err != nil {
		return err
	}
	p.messages = p.method.Messages()
	p.exponent = p.messages.Exponent
	p.after, err = p.lastRounds(multiplier)
	return err
}

// deriveScaling sets p.before. The scale phase must have found the scale.
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

// Before returns the study's scale phase, or nothing if it has none.
func (p *Protocol) Before() []*scale.Scaling { return p.before }

// After returns the study's last round, or nothing if it has none.
func (p *Protocol) After() []*lastround.Round { return p.after }

// Digest returns the digest that identifies the protocol.
func (p *Protocol) Digest() Digest { return p.digest }

// Study returns the study.
func (p *Protocol) Study() *study.Study { return p.study }

// Roster returns the clients, sorted by name. The slice is not a copy.
func (p *Protocol) Roster() []ClientID { return p.roster.Clients }

// Model returns the model of the study, with its columns on the study's scale.
func (p *Protocol) Model() *fit.Model { return p.model }

// Family returns the family of q.
func (p *Protocol) Family() gaussian.Family { return p.family }

// Method returns the method of the rounds.
func (p *Protocol) Method() method.Method { return p.method }

// Prior returns the natural parameters of the prior. The slice is not a copy.
func (p *Protocol) Prior() []float64 { return p.setting.Prior() }

// MinClients returns U_min: a sum is opened only if at least this number of clients answered.
func (p *Protocol) MinClients() int { return p.roster.Fewest }

// Colluders returns t, the number of clients that are assumed to collude.
func (p *Protocol) Colluders() int { return p.roster.Colluders }

// Plans returns the number of plans in all rounds. A synchronous schedule has one for each round,
// other schedules one for each client and round.
func (p *Protocol) Plans() int { return p.setting.Plans() }

// MessageSize returns the number of elements of a release in the rounds.
func (p *Protocol) MessageSize() int { return p.messages.Size }

// damping returns α, the damping of plan number n, in units of 2^-[method.DampingBits].
func (p *Protocol) damping(n int) int64 {
	alpha := p.study.Inference.Damping.At(p.setting.Round(n))
	return max(1, int64(math.Round(math.Ldexp(alpha, method.DampingBits))))
}

// Fewest returns the smallest number of answers with which a round is not void.
func (p *Protocol) Fewest() int {
	if p.study.Inference.Schedule == study.Synchronous {
		return p.roster.Fewest
	}
	return 1
}
