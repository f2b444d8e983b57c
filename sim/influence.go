package sim

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// An Influence tells how the pooled posterior changes when one client is left out.
type Influence struct {
	Client  pvi.ClientID `json:"client"`
	Records int          `json:"records"`

	// Coefficient is the coefficient whose mean changes most. Shift is this change with its sign,
	// in sds of the pooled posterior.
	Coefficient string  `json:"coefficient"`
	Shift       float64 `json:"shift_in_pooled_sds"`
}

// widestInfluence is the maximum number of parameters for which influences are computed, because
// each client needs a system with that many linear equations.
const widestInfluence = 200

// influences returns each client's influence on the reference, largest first. It takes one Newton
// step, which is exact if the model is conjugate. It omits a client if the quadratic approximation
// has no maximum without it. It returns nil if only sums are opened, if there is only one client,
// if the model is not a regression or has too many parameters, or if the reference has no full
// covariance.
func influences(p *pvi.Protocol, shards []*shard.Shard, reference *Reference) ([]Influence, error) {
	m := p.Model()
	if p.Study().Federation.Opens == study.OpenSums || len(shards) < 2 || m.General() || m.Dim() > widestInfluence || reference.family.Name() != "full" {
		return nil, nil
	}
	mean, cov, err := reference.Moments()
	if err != nil {
		return nil, err
	}
	family := gaussian.Full(m.Dim())
	var out []Influence
	for k, s := range shards {
		l, err := m.Likelihood(s, len(shards))
		if err != nil {
			return nil, err
		}
		e := solver.NewExpected(family)
		l.AddExpected(e, &solver.Approximation{Family: family, Mean: mean, Point: true})
		rest := mat.NewSymDense(m.Dim(), nil) // precision without the client
		for i := range m.Dim() {
			for j := range i + 1 {
				at := gaussian.Packed(m.Dim(), i, j)
				rest.SetSym(i, j, reference.Natural[at]+e.Hessian[at-m.Dim()])
			}
		}
		var root mat.Cholesky
		var move mat.VecDense
		if !e.Finite() || !root.Factorize(rest) || root.SolveVecTo(&move, mat.NewVecDense(m.Dim(), e.Gradient)) != nil {
			continue // the quadratic approximation has no maximum without this client
		}
		one := Influence{Client: p.Roster()[k], Records: s.Len()}
		for i, q := range m.Parameters.All() {
			if shift := -move.AtVec(i) / math.Sqrt(cov.At(i, i)); math.Abs(shift) > math.Abs(one.Shift) {
				one.Coefficient, one.Shift = q.Name, shift
			}
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b Influence) int { return cmp.Compare(math.Abs(b.Shift), math.Abs(a.Shift)) })
	return out, nil
}
