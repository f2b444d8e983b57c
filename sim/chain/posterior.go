package chain

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"fedpvi/gpu"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// Links is the length of the Markov chain that [Posterior] runs.
const Links = 20000

// leastAccepted is the smallest allowed share of accepted proposals. If a proposal is accepted with
// probability a, n states of the chain are as precise as n·a/(2 − a) independent draws. At the
// smallest share, these are about 1,000 for the whole chain.
const leastAccepted = 0.1

// Posterior returns the mean and covariance of the posterior of θ given all records. At the point
// at, which should be near the maximum, the log posterior must be concave. The first fifth of the
// states is dropped. If the chain is as precise as n independent draws and the posterior is nearly
// normal, the relative error of an sd is 1/√(2n), about 1 %. Posterior fails if too few proposals
// are accepted, which happens with very many coefficients.
func Posterior(m *fit.Model, shards []*shard.Shard, at []float64, r *rand.Rand) (mean []float64, cov *mat.SymDense, err error) {
	records, err := load(m, shards)
	if err != nil {
		return nil, nil, err
	}
	curvature, err := records.curvature(at)
	if err != nil {
		return nil, nil, err
	}
	root, err := Precision(m, curvature, 1)
	if err != nil {
		return nil, nil, err
	}
	d := len(at)
	p := newProposals(at, root, r)
	theta, next := append([]float64(nil), at...), make([]float64, d)
	now, err := records.logPosterior(theta)
	if err != nil {
		return nil, nil, err
	}
	now -= p.logDensity(theta)
	s := newMoments(d)
	for link := range Links {
		p.draw(next)
		there, err := records.logPosterior(next)
		if err != nil {
			return nil, nil, err
		}
		there -= p.logDensity(next)
		moved := math.Log(r.Float64()) < there-now
		if moved {
			now, theta, next = there, next, theta
		}
		if link >= Links/5 {
			s.add(theta, moved)
		}
	}
	if share := s.moved / s.n; share < leastAccepted {
		return nil, nil, fmt.Errorf("a Markov chain moved in only %.2g of its links, too few to estimate the posterior, which has too many coefficients or is far from normal", share)
	}
	return s.mean, s.covariance(), nil
}

// records has the records of all shards, in the layout for package gpu.
type records struct {
	fit  *fit.Model
	each []gpu.Evaluator
	draw gpu.Query
}

func load(m *fit.Model, shards []*shard.Shard) (*records, error) {
	r := &records{fit: m, draw: gpu.Query{Draws: make([][]float64, 1), Clip: math.Inf(1)}}
	for _, s := range shards {
		table, err := m.Load(s)
		if err != nil {
			return nil, err
		}
		e, err := gpu.CPU{}.Compile(m.Program(), table)
		if err != nil {
			return nil, err
		}
		r.each = append(r.each, e)
	}
	return r, nil
}

// logPosterior returns the log density of θ up to a constant, or −∞ if the log density of a record
// is not finite.
func (r *records) logPosterior(theta []float64) (float64, error) {
	sum := r.fit.Program().LogPrior(theta, nil)
	r.draw.Draws[0] = theta
	for _, e := range r.each {
		total, err := e.Sum(nil, &r.draw)
		if err != nil {
			return 0, err
		}
		if total.Refused > 0 {
			return math.Inf(-1), nil
		}
		sum += total.LogDensity
	}
	return sum, nil
}

// curvature returns the Hessian of the records' log likelihood, packed by rows.
func (r *records) curvature(at []float64) ([]float64, error) {
	sum, one := make([]float64, len(at)*(len(at)+1)/2), make([]float64, len(at)*(len(at)+1)/2)
	for _, e := range r.each {
		if err := e.Hessian(one, at); err != nil {
			return nil, err
		}
		for i, x := range one {
			sum[i] += x
		}
	}
	return sum, nil
}

// ErrNotConcave means that the log posterior is not concave at the start of the chain.
var ErrNotConcave = errors.New("the log posterior is not concave at the pooled fit: a Markov chain needs a model whose log posterior is concave")

// Precision returns an upper triangular U with UᵀU = P, where P is the precision of the prior minus
// weight times the Hessian of the log likelihood, packed by rows in hessian.
func Precision(m *fit.Model, hessian []float64, weight float64) (*mat.TriDense, error) {
	d := m.Dim()
	precision := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			precision.SetSym(i, j, -weight*hessian[i*(i+1)/2+j])
		}
		sd := m.Parameters.Prior(i).SD
		precision.SetSym(i, i, precision.At(i, i)+1/(sd*sd))
	}
	var root mat.Cholesky
	if !root.Factorize(precision) {
		return nil, ErrNotConcave
	}
	upper := new(mat.TriDense)
	root.UTo(upper)
	return upper, nil
}
