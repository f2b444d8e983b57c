package fit

import (
	"iter"
	"math"
	"sort"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/study"
)

// A Parameter is one coordinate of θ.
type Parameter struct {
	Name  string
	Log   bool         // whether the coordinate is the logarithm of the parameter
	Prior study.Normal // prior of the coordinate
	About string       // description of the parameter or, if Beyond is true, of its prior

	// Beyond is true if the parameter's own prior is not normal. Prior is then the prior of q, and the
	// likelihood of each client contains a share of the ratio of the two priors.
	Beyond bool

	// Spread is the name of the parameter that is the standard deviation of this group effect, or "".
	// Prior then has the same mean and variance as the effect.
	Spread string

	// HalfNormal is the scale of the parameter's half-normal prior, or 0. Prior then has the same mean
	// and variance.
	HalfNormal float64
}

// OwnPrior returns the log-normal prior of a parameter whose logarithm is the coordinate.
func (p Parameter) OwnPrior() study.LogNormal {
	return study.LogNormal{Median: math.Exp(p.Prior.Mean), Factor: math.Exp(p.Prior.SD)}
}

// Parameters holds the coordinates of θ. There may be a million, so a Parameter is built only when
// asked for.
type Parameters struct{ blocks []block }

// A block is a range of coordinates of θ.
type block struct {
	first, behind int                      // coordinates first to behind − 1
	parameter     func(k int) Parameter    // returns parameter first + k
	prior         func(k int) study.Normal // returns the prior of parameter first + k
}

// Len returns the dimension of θ.
func (p *Parameters) Len() int {
	if len(p.blocks) == 0 {
		return 0
	}
	return p.blocks[len(p.blocks)-1].behind
}

// At returns parameter i, counted from 0. It panics if i is out of range.
func (p *Parameters) At(i int) Parameter {
	b := p.block(i)
	return b.parameter(i - b.first)
}

// Prior returns the prior of coordinate i, counted from 0. It panics if i is out of range.
func (p *Parameters) Prior(i int) study.Normal {
	b := p.block(i)
	return b.prior(i - b.first)
}

func (p *Parameters) block(i int) *block {
	if p.blocks[0].behind > i { // common case
		return &p.blocks[0]
	}
	return &p.blocks[sort.Search(len(p.blocks), func(b int) bool { return p.blocks[b].behind > i })]
}

// All returns every parameter with its index, in the order of θ.
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
	return p.addAll(1, func(int) Parameter { return one }, func(int) study.Normal { return one.Prior })
}

// addAll adds n parameters and returns the index of the first one. parameter(k) and prior(k) are
// called only when needed, with k from 0 to n−1.
func (p *Parameters) addAll(n int, parameter func(k int) Parameter, prior func(k int) study.Normal) int {
	first := p.Len()
	if n > 0 {
		p.blocks = append(p.blocks, block{first, first + n, parameter, prior})
	}
	return first
}

// covariance is the covariance matrix of the prior. It implements mat.Symmetric.
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
