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

// Parameters are the coordinates of θ, in order. There may be a million: one is put together when it is asked for.
type Parameters struct{ blocks []block }

// A block is of coordinates that are alike, one after the other.
type block struct {
	first, behind int                      // of them, and of those that follow
	parameter     func(k int) Parameter    // the one at first + k
	prior         func(k int) study.Normal // its prior alone
}

// Len returns how many there are: the dimension of θ.
func (p *Parameters) Len() int {
	if len(p.blocks) == 0 {
		return 0
	}
	return p.blocks[len(p.blocks)-1].behind
}

// At returns parameter i, from 0. It panics if there is none.
func (p *Parameters) At(i int) Parameter {
	b := p.block(i)
	return b.parameter(i - b.first)
}

// Prior returns the prior of coordinate i, as in At.
func (p *Parameters) Prior(i int) study.Normal {
	b := p.block(i)
	return b.prior(i - b.first)
}

func (p *Parameters) block(i int) *block {
	if p.blocks[0].behind > i { // as all are of most models
		return &p.blocks[0]
	}
	return &p.blocks[sort.Search(len(p.blocks), func(b int) bool { return p.blocks[b].behind > i })]
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

// add adds a parameter and returns its place.
func (p *Parameters) add(one Parameter) int {
	return p.addAll(1, func(int) Parameter { return one }, func(int) study.Normal { return one.Prior })
}

// addAll adds n parameters that are made when they are asked for, and returns the place of the first.
func (p *Parameters) addAll(n int, parameter func(k int) Parameter, prior func(k int) study.Normal) int {
	first := p.Len()
	if n > 0 {
		p.blocks = append(p.blocks, block{first, first + n, parameter, prior})
	}
	return first
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
