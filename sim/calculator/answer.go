package calculator

import (
	"fmt"
	"math"

	"fedpvi/accountant"
)

// An Answer holds a question with all its values, and the privacy bounds that follow. The JSON
// names are stable. If a bound guarantees nothing, it is null and Vacuous is true.
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
	Solved          string               `json:"solved"` // name of the value that was computed
	Risk            Risk                 `json:"risk"`
	Compare         *Compare             `json:"compare,omitempty"`

	// Profile is the privacy profile from which the bounds follow.
	Profile accountant.Profile `json:"-"`
}

// Risk tells how well an attacker who sees all releases can guess which of two adjacent inputs they
// came from.
type Risk struct {
	// upper bound on TPR − FPR, the true-positive rate minus the false-positive rate, of any attack
	Advantage float64 `json:"advantage"`
	// lower bound on TPR − FPR of the best attack
	AdvantageLow float64 `json:"advantage_lower"`
	Accuracy     float64 `json:"accuracy"` // upper bound on the accuracy, if both inputs are equally likely
	AccuracyLow  float64 `json:"accuracy_lower"`
	Rates        []Rate  `json:"true_positive_rates"`
	Prior        float64 `json:"prior"`
	// Exception is the probability that the releases change the odds by a larger factor than
	// exp(LogOddsFactor).
	Exception float64 `json:"odds_exception"`
	// LogOddsFactor is the logarithm of the largest factor by which the releases change the odds.
	// With probability Exception they may change them more.
	LogOddsFactor *float64 `json:"log_odds_factor"`
	// odds after the releases, for the prior probability Question.Prior
	Odds  *float64 `json:"posterior_odds"`
	Group Group    `json:"group"`
}

// Rate gives the true-positive rate of the best attack with the false-positive rate FPR. It is
// between TPRLow and TPR.
type Rate struct {
	FPR    float64 `json:"fpr"`
	TPR    float64 `json:"tpr_upper"`
	TPRLow float64 `json:"tpr_lower"`
	// Posterior is an upper bound on the probability that the record was used, given that the
	// attack says so.
	Posterior float64 `json:"posterior"`
}

// Group is the privacy guarantee for groups of records.
type Group struct {
	Size         int      `json:"size"`
	EpsilonUpper *float64 `json:"epsilon_upper"`
	EpsilonLower *float64 `json:"epsilon_lower"`
	Vacuous      bool     `json:"vacuous"`
}

// Compare holds the ε that other accounting methods give, also under other adjacencies.
type Compare struct {
	Methods     []Compared `json:"methods"`
	Adjacencies []Compared `json:"adjacencies"`
}

// Compared is the ε of one method under one adjacency, or the reason why there is no bound.
type Compared struct {
	Method       accountant.Method    `json:"method,omitempty"`
	Adjacency    accountant.Adjacency `json:"adjacency"`
	EpsilonUpper *float64             `json:"epsilon_upper"`
	EpsilonLower *float64             `json:"epsilon_lower"`
	Certified    bool                 `json:"certified"`
	Vacuous      bool                 `json:"vacuous"`
	Reason       string               `json:"reason,omitempty"`
}

// finite returns a pointer to x, or nil if JSON cannot represent x.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// Ask computes the missing value of a question and the privacy bounds. If the missing value is
// neither ε nor δ, Ask also checks that the accounted cost meets the target (ε, δ).
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

// promise sets the guaranteed ε and δ. It returns the δ for which the other bounds are computed.
func (a *Answer) promise(q Question) (float64, error) {
	delta := 0.0
	if q.Delta != nil {
		delta = *q.Delta
	} else {
		b, err := a.Profile.Delta(*q.Epsilon)
		if err != nil {
			return 0, err
		}
		// JSON and logarithms need a positive δ, so values below 1e-300 become 1e-300.
		delta = max(b.Upper, 1e-300)
		a.Method, a.Certified, a.Vacuous = b.Method, b.Certified, b.Vacuous
		if b.Vacuous || delta >= 1 {
			a.Vacuous = true
			return 0, fmt.Errorf("at epsilon %g the smallest proven delta is 1, which is no guarantee: use a larger epsilon or more noise", *q.Epsilon)
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
