package fit

import (
	"iter"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/study"
)

// A Parameter is one coordinate of θ.
type Parameter struct {
	Name  string
	Log   bool         // the coordinate is the logarithm of the parameter
	Prior study.Normal // of the coordinate
	About string       // what it is, in words; if Beyond, the distribution

	// Beyond says that Prior is only the base with which q begins: the prior is
	// of another kind, and clients share what it says beyond.
	Beyond bool
}

// OwnPrior returns the prior of a parameter whose coordinate is its logarithm.
func (p Parameter) OwnPrior() study.LogNormal {
	return study.LogNormal{Median: math.Exp(p.Prior.Mean), Factor: math.Exp(p.Prior.SD)}
}

// Parameters are the coordinates of θ, in order. There may be a million, of a few thousand regressors and
// some classes: one is put together when it is asked for.
type Parameters struct {
	classes      []class       // have all coefficients each, one class after the other
	coefficients []coefficient // in which classes are alike
	others       []Parameter   // behind them
}

type class struct{ of, about string }

type coefficient struct {
	name  string
	prior study.Normal
}

// ParametersOf returns the parameters given.
func ParametersOf(all ...Parameter) Parameters { return Parameters{others: all} }

// Len returns how many there are: the dimension of θ.
func (p *Parameters) Len() int { return len(p.classes)*len(p.coefficients) + len(p.others) }

// At returns parameter i, from 0. It panics if there is none.
func (p *Parameters) At(i int) Parameter {
	n := len(p.coefficients)
	if i -= len(p.classes) * n; i >= 0 {
		return p.others[i]
	}
	i += len(p.classes) * n
	of, c := p.classes[i/n], p.coefficients[i%n]
	return Parameter{Name: of.of + c.name, Prior: c.prior, About: of.about}
}

// Prior returns the prior of coordinate i, as in At.
func (p *Parameters) Prior(i int) study.Normal {
	if n := len(p.coefficients); i < len(p.classes)*n {
		return p.coefficients[i%n].prior
	}
	return p.At(i).Prior
}

// All returns every parameter with its number, in order.
func (p *Parameters) All() iter.Seq2[int, Parameter] {
	return func(yield func(int, Parameter) bool) {
		for i := range p.Len() {
			if !yield(i, p.At(i)) {
				return
			}
		}
	}
}

func (p *Parameters) add(one Parameter) int {
	p.others = append(p.others, one)
	return p.Len() - 1
}

// covariance is that of the prior.
type covariance struct{ *Parameters }

func (c covariance) SymmetricDim() int { return c.Len() }
func (c covariance) Dims() (r, n int)  { return c.Len(), c.Len() }
func (c covariance) T() mat.Matrix     { return c }
func (c covariance) At(i, j int) float64 {
	if i != j {
		return 0
	}
	sd := c.Prior(i).SD
	return sd * sd
}
