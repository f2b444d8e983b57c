package clientscores

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/scoring"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A model is the regression or the formula of the study.
type model interface {
	// prior returns the prior of θ.
	prior() *prior

	// draw returns a draw of θ from the prior. It computes the draw from one standard normal number
	// per coordinate.
	draw(z []float64) []float64

	// open prepares the records of a shard.
	open(s *shard.Shard) (records, error)

	// begins reports whether the first point is found from the modes of the clients' records. If not,
	// it is the prior mean.
	begins() bool

	// madeUp returns the records of s with outcomes drawn from the model at theta. normals(n) provides
	// n standard normal numbers.
	madeUp(s *shard.Shard, theta []float64, normals func(n int) []float64) (records, error)
}

// A prior holds the moments of the prior of θ.
type prior struct {
	mean, sd  []float64
	precision *mat.SymDense
}

// records holds the records of one client.
type records interface {
	// len returns the number of records.
	len() int

	// score returns the gradient of the log likelihood at θ, and the Fisher information. It may panic
	// if it encounters numbers that are not finite.
	score(theta []float64) (gradient []float64, information *mat.SymDense, err error)

	// mode returns a point close to the posterior mode of the records. It may be called only if
	// [model.begins] is true.
	mode(p *prior) []float64
}

func modelOf(s *method.Setting) (model, error) {
	if s.Study.Model.Program == nil {
		return regression{s}, nil
	}
	return newFormula(s)
}

// normals returns a source of standard normal numbers, which depend on the protocol's digest,
// purpose and number.
func normals(s *method.Setting, purpose string, number int) func(n int) []float64 {
	return func(n int) []float64 {
		z := make([]float64, n)
		dpmech.FillPublicNormal(z, purpose, s.Digest, number)
		return z
	}
}

// regression is the model for the built-in regression families.
type regression struct{ *method.Setting }

func (r regression) prior() *prior {
	d := r.Model.Dim()
	p := &prior{mean: make([]float64, d), sd: make([]float64, d), precision: mat.NewSymDense(d, nil)}
	for i := range d {
		of := r.Model.Parameters.Prior(i)
		p.mean[i], p.sd[i] = of.Mean, of.SD
		_, precision := r.Model.NaturalPrior(i)
		p.precision.SetSym(i, i, precision)
	}
	return p
}

func (r regression) draw(z []float64) []float64 {
	theta := make([]float64, len(z))
	for i := range theta {
		prior := r.Model.Parameters.Prior(i)
		theta[i] = prior.Mean + prior.SD*z[i]
	}
	return theta
}

func (r regression) open(s *shard.Shard) (records, error) {
	return regressionRecords{r.Model.Regression(s)}, nil
}

func (r regression) madeUp(s *shard.Shard, theta []float64, normals func(n int) []float64) (records, error) {
	of := r.Model.Regression(s)
	response, err := of.Outcome().Described()
	if err != nil {
		return nil, err
	}
	eta, z := make([]float64, response.Size()), normals(2*s.Len())
	for i := range s.Len() {
		of.Predictors(eta, i, theta)
		of.Outcomes()[i] = response.Outcome(eta, [2]float64{z[2*i], z[2*i+1]})
	}
	return regressionRecords{of}, nil
}

func (r regression) begins() bool { return false }

type regressionRecords struct{ *solver.Regression }

func (r regressionRecords) len() int { return len(r.Outcomes()) }

func (r regressionRecords) score(theta []float64) ([]float64, *mat.SymDense, error) {
	return r.Score(theta)
}

func (r regressionRecords) mode(*prior) []float64 {
	panic("clientscores: a regression begins at the prior mean")
}

// formula is the model for studies with a formula.
type formula struct {
	*scoring.Totals
	of *prior
}

func newFormula(s *method.Setting) (formula, error) {
	made := shard.Design(s.Study, method.MadeUp(s.Study, s.Digest, 0, madeUpRecords))
	totals, err := scoring.NewTotals(s.Study, s.Model, made, normals(s, "outcomes of made-up records", 0))
	if err != nil {
		return formula{}, err
	}
	mean, cov := totals.Prior()
	p := &prior{mean: mean, sd: make([]float64, len(mean)), precision: mat.NewSymDense(len(mean), nil)}
	for i := range p.sd {
		p.sd[i] = math.Sqrt(cov.At(i, i))
	}
	var root mat.Cholesky
	if !root.Factorize(cov) || root.InverseTo(p.precision) != nil {
		return formula{}, errors.New("the covariance of the prior is singular to working accuracy")
	}
	return formula{totals, p}, nil
}

func (f formula) prior() *prior { return f.of }

func (f formula) draw(z []float64) []float64 { return f.Draw(z) }

func (f formula) open(s *shard.Shard) (records, error) {
	of, err := f.Open(s)
	return formulaRecords{of}, err
}

func (f formula) madeUp(s *shard.Shard, theta []float64, normals func(n int) []float64) (records, error) {
	of, err := f.Redraw(s, theta, normals)
	return formulaRecords{of}, err
}

func (f formula) begins() bool { return true }

type formulaRecords struct{ *scoring.Total }

func (r formulaRecords) len() int { return r.Len() }

func (r formulaRecords) score(theta []float64) ([]float64, *mat.SymDense, error) {
	gradient, information := r.Score(theta)
	return gradient, information, nil
}

func (r formulaRecords) mode(p *prior) []float64 { return r.Mode(p.mean, p.precision) }
