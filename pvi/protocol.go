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

// A Protocol holds all settings that the server and the sites share. It is immutable, and is
// computed from a study and a roster of clients.
type Protocol struct {
	study  *study.Study
	roster phase.Roster
	digest Digest

	setting  *method.Setting
	method   method.Method // method used in the rounds
	messages method.Messages

	// before and after hold the scale phase and the last round, if the study has them. They use part
	// of the study's privacy budget.
	before []*scale.Scaling
	after  []*lastround.Round

	// The fields below are copied from setting and messages.
	model       *fit.Model
	family      gaussian.Family
	coordinates *lambda.Coordinates
	exponent    int
}

// NewProtocol returns the protocol of a study. The names in the roster must be distinct. If the
// study standardises columns privately, st must already contain the result of the scale phase
// ([scale.Scaling]).
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

// deriveMethod sets p.method and p.after. If the study does not set a noise multiplier,
// deriveMethod chooses one with which all phases together meet the privacy target. For an unsound
// method ([Protocol.Sound]), it is the claimed cost that meets the target.
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

// deriveScaling sets p.before. It needs the scale that the scale phase found.
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

// Before returns the study's scale phase in a slice, which is empty if there is none.
func (p *Protocol) Before() []*scale.Scaling { return p.before }

// After returns the study's last round in a slice, which is empty if there is none.
func (p *Protocol) After() []*lastround.Round { return p.after }

// Digest returns the digest that identifies the protocol.
func (p *Protocol) Digest() Digest { return p.digest }

// Study returns the study.
func (p *Protocol) Study() *study.Study { return p.study }

// Roster returns the clients, sorted by name. The slice is not a copy.
func (p *Protocol) Roster() []ClientID { return p.roster.Clients }

// Model returns the study's model, with its columns on the study's scale.
func (p *Protocol) Model() *fit.Model { return p.model }

// Family returns the family of q.
func (p *Protocol) Family() gaussian.Family { return p.family }

// Method returns the method of the rounds.
func (p *Protocol) Method() method.Method { return p.method }

// Prior returns the natural parameters of the prior. The slice is not a copy.
func (p *Protocol) Prior() []float64 { return p.setting.Prior() }

// MinClients returns U_min, the number of clients that must answer before a sum is opened.
func (p *Protocol) MinClients() int { return p.roster.Fewest }

// Colluders returns t, the number of clients that may collude without breaking the privacy
// guarantee.
func (p *Protocol) Colluders() int { return p.roster.Colluders }

// Plans returns the number of plans in all rounds. A synchronous schedule has one for each round,
// other schedules one for each client and round.
func (p *Protocol) Plans() int { return p.setting.Plans() }

// MessageSize returns the number of elements in a release of the rounds.
func (p *Protocol) MessageSize() int { return p.messages.Size }

// damping returns α, the damping of plan number n, in units of 2^-[method.DampingBits].
func (p *Protocol) damping(n int) int64 {
	alpha := p.study.Inference.Damping.At(p.setting.Round(n))
	return max(1, int64(math.Round(math.Ldexp(alpha, method.DampingBits))))
}

// Fewest returns the number of answers below which a round is void.
func (p *Protocol) Fewest() int {
	if p.study.Inference.Schedule == study.Synchronous {
		return p.roster.Fewest
	}
	return 1
}
