package calculator

import (
	"fmt"
	"math"

	"fedpvi/accountant"
)

// An Answer is a question with everything filled in. Names of fields in JSON are
// stable. A bound that promises nothing is null there, and Vacuous says so.
type Answer struct {
	EpsilonUpper    *float64             `json:"epsilon_upper"`
	EpsilonLower    *float64             `json:"epsilon_lower"`
	Delta           *float64             `json:"delta"`
	Method          accountant.Method    `json:"method"`
	Certified       bool                 `json:"certified"`
	Vacuous         bool                 `json:"vacuous"`
	Adjacency       accountant.Adjacency `json:"adjacency"`
	Sampling        Sampling             `json:"sampling"`
	NoiseMultiplier float64              `json:"noise_multiplier"`
	Rate            float64              `json:"q"`
	Steps           int                  `json:"steps"`
	Solved          string               `json:"solved"` // the field that was asked for
	Risk            Risk                 `json:"risk"`
	Compare         *Compare             `json:"compare,omitempty"`

	// Profile is what all of it was computed from.
	Profile accountant.Profile `json:"-"`
}

// Risk is what an attacker can achieve who sees all that is released and wants to
// know which of two adjacent inputs it came from.
type Risk struct {
	Advantage     float64  `json:"advantage"`       // true- less false-positive rate, at most
	AdvantageLow  float64  `json:"advantage_lower"` // of the best attack, at least
	Accuracy      float64  `json:"accuracy"`        // at even odds, at most
	AccuracyLow   float64  `json:"accuracy_lower"`
	Rates         []Rate   `json:"true_positive_rates"`
	Prior         float64  `json:"prior"`
	Exception     float64  `json:"odds_exception"`  // probability with which OddsFactor may fail
	LogOddsFactor *float64 `json:"log_odds_factor"` // by which odds grow at most otherwise
	Odds          *float64 `json:"posterior_odds"`  // for Prior
	Group         Group    `json:"group"`
}

// Rate is what an attack that is wrong about FPR of those who are not there
// recognises of those who are.
type Rate struct {
	FPR       float64 `json:"fpr"`
	TPR       float64 `json:"tpr_upper"`
	TPRLow    float64 `json:"tpr_lower"`
	Posterior float64 `json:"posterior"` // probability that a suspect is there, at most
}

// Group is what is promised to groups of records.
type Group struct {
	Size         int      `json:"size"`
	EpsilonUpper *float64 `json:"epsilon_upper"`
	EpsilonLower *float64 `json:"epsilon_lower"`
	Vacuous      bool     `json:"vacuous"`
}

// Compare sets other methods, and other adjacencies, beside the answer.
type Compare struct {
	Methods     []Compared `json:"methods"`
	Adjacencies []Compared `json:"adjacencies"`
}

// Compared is ε by another way. Reason says why there is none.
type Compared struct {
	Method       accountant.Method    `json:"method,omitempty"`
	Adjacency    accountant.Adjacency `json:"adjacency"`
	EpsilonUpper *float64             `json:"epsilon_upper"`
	EpsilonLower *float64             `json:"epsilon_lower"`
	Certified    bool                 `json:"certified"`
	Vacuous      bool                 `json:"vacuous"`
	Reason       string               `json:"reason,omitempty"`
}

// finite returns nil for what JSON cannot hold.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// Ask answers a question. What it finds for a promise was accounted for and keeps
// it.
func Ask(q Question) (*Answer, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	unknown, err := q.unknown()
	if err != nil {
		return nil, err
	}
	if q.Rate == nil && q.Sampling == Everything {
		one := 1.0
		q.Rate = &one
	}
	if q, err = q.solve(unknown); err != nil {
		return nil, err
	}
	e, err := q.event(q.Adjacency, *q.NoiseMultiplier, *q.Rate, *q.Steps)
	if err != nil {
		return nil, err
	}
	p, err := accountant.Account(e)
	if err != nil {
		return nil, err
	}
	a := &Answer{
		Adjacency: q.Adjacency, Sampling: q.Sampling, Profile: p, Solved: unknown,
		NoiseMultiplier: *q.NoiseMultiplier, Rate: *q.Rate, Steps: *q.Steps,
	}
	delta, err := a.promise(q)
	if err != nil {
		return nil, err
	}
	if err := a.risk(q, delta); err != nil {
		return nil, err
	}
	if q.Compare {
		a.compare(q, delta)
	}
	return a, nil
}

// promise fills in ε and δ, and returns the δ to use.
func (a *Answer) promise(q Question) (float64, error) {
	delta := 0.0
	if q.Delta != nil {
		delta = *q.Delta
	} else {
		b, err := a.Profile.Delta(*q.Epsilon)
		if err != nil {
			return 0, err
		}
		// A δ that a float64 does not hold is raised to one that it does.
		delta = max(b.Upper, 1e-300)
		a.Method, a.Certified, a.Vacuous = b.Method, b.Certified, b.Vacuous
		if b.Vacuous || delta >= 1 {
			a.Vacuous = true
			return 0, fmt.Errorf("at epsilon %g the smallest delta that is proven is 1, which promises nothing: use a larger epsilon or more noise", *q.Epsilon)
		}
	}
	b, err := a.Profile.Epsilon(delta)
	if err != nil {
		return 0, err
	}
	a.Method, a.Certified, a.Vacuous = b.Method, b.Certified, b.Vacuous
	a.Delta = finite(delta)
	if q.Delta == nil {
		b.Upper, b.Lower = *q.Epsilon, min(b.Lower, *q.Epsilon)
	}
	a.EpsilonUpper, a.EpsilonLower = finite(b.Upper), finite(b.Lower)
	return delta, nil
}

func (a *Answer) risk(q Question, delta float64) error {
	p, r := a.Profile, &a.Risk
	advantage, err := p.Advantage()
	if err != nil {
		return err
	}
	r.Advantage, r.AdvantageLow = advantage.Upper, advantage.Lower
	r.Accuracy, r.AccuracyLow = (1+advantage.Upper)/2, (1+advantage.Lower)/2
	curve, err := p.TradeOff(q.FPRs)
	if err != nil {
		return err
	}
	for i, b := range curve {
		r.Rates = append(r.Rates, Rate{q.FPRs[i], b.Upper, b.Lower, accountant.Posterior(q.Prior, b.Upper, q.FPRs[i])})
	}
	factor, err := p.OddsFactor(delta)
	if err != nil {
		return err
	}
	r.Prior, r.Exception = q.Prior, delta
	r.LogOddsFactor = finite(factor.Upper)
	r.Odds = finite(q.Prior / (1 - q.Prior) * math.Exp(factor.Upper) * (1 + 1e-15))
	group, err := p.GroupEpsilon(q.Group, delta)
	if err != nil {
		return err
	}
	r.Group = Group{q.Group, finite(group.Upper), finite(group.Lower), group.Vacuous}
	return nil
}

func (a *Answer) compare(q Question, delta float64) {
	a.Compare = new(Compare)
	for _, m := range accountant.Methods() {
		b, err := a.Profile.EpsilonBy(m, delta)
		c := compared(b, err)
		c.Method, c.Adjacency = m, q.Adjacency
		a.Compare.Methods = append(a.Compare.Methods, c)
	}
	for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne, accountant.ZeroOut} {
		var b accountant.Bound
		e, err := q.event(adjacency, a.NoiseMultiplier, a.Rate, a.Steps)
		if err == nil {
			var p accountant.Profile
			if p, err = accountant.Account(e); err == nil {
				b, err = p.Epsilon(delta)
			}
		}
		c := compared(b, err)
		c.Method, c.Adjacency = b.Method, adjacency
		a.Compare.Adjacencies = append(a.Compare.Adjacencies, c)
	}
}

func compared(b accountant.Bound, err error) Compared {
	if err != nil {
		return Compared{Reason: err.Error()}
	}
	return Compared{EpsilonUpper: finite(b.Upper), EpsilonLower: finite(b.Lower), Certified: b.Certified, Vacuous: b.Vacuous}
}
