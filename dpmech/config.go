package dpmech

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
)

// sigmaBits is the size of a noise share in lattice steps: the lattice is made
// so fine that a share's σ lies in [2^(sigmaBits-1), 2^sigmaBits]. From 2^20 on
// the discrete Gaussian's guarantee is that of the continuous one to far below
// any δ (see [accountant.DiscreteGaussian]).
const sigmaBits = 24

// maxClipOverShare is the largest ratio of the clip to the σ of one noise share.
// Beyond it the bound on the noise would show: what is accounted is a Gaussian
// without one, and differs from it by e^(-2^20) times e^ε.
const maxClipOverShare = 1 << 10

// maxTotal bounds the absolute value of any sum of releases, so that an int64
// holds it with a bit to spare.
const maxTotal = 1 << 62

// Config says what a [GaussianSum] has to guarantee.
type Config struct {
	Dim  int     // number of elements of a vector, at least 1
	Clip float64 // C: the L2 bound on what one vector adds to the sum

	// NoiseMultiplier is σ: the standard deviation of the noise that hides one
	// vector, divided by Clip, when Shares shares of it are in the sum.
	NoiseMultiplier float64

	// Shares is the number of independent noise shares that together reach
	// NoiseMultiplier: 1 if a release carries all of its noise, U_min − t if
	// at least U_min releases are summed and up to t of them come from
	// colluders, who know their own noise.
	Shares int

	Terms    int // most vectors that one release adds up
	Releases int // most releases that are summed before anyone reads the total

	Adjacency accountant.Adjacency

	// Aggregates is true if what is protected is one of many that a vector was made
	// of, as a record is where vectors are fits of whole parts of the data. Taking it
	// away then turns the vector into another one, as replacing it does: the
	// sensitivity is 2C under every adjacency.
	Aggregates bool
}

// sensitivity returns how far a sum moves, in units of C, between neighbours.
func (c Config) sensitivity(adjacency accountant.Adjacency) float64 {
	if c.Aggregates {
		return 2
	}
	return adjacency.Factor()
}

// fit refuses a clip C, in lattice steps, beside which the noise is too little or
// too much, and sums that could overflow.
//
// Proof that none does: an element of a vector is at most C in absolute value,
// because the norm is; a sum of a release's vectors at most Terms·C; a noise
// sample at most bound; so any sum of at most Releases releases, or of parts of
// them, is at most Releases·(Terms·C + bound). That is computed here in floats,
// in four roundings, each by less than 2^-52 of the value: below 2^62 here, it is
// below 2^62·(1+2^-49) < 2^63.
func (c Config) fit(clip float64, sigma, bound int64) error {
	if ratio := clip / float64(sigma); ratio > maxClipOverShare {
		return fmt.Errorf("with noise multiplier %.6g over %d noise shares one share is %.4g times smaller than the clip, at most %d times is possible: a noise multiplier of %.3g would do, or at most %.0f noise shares",
			c.NoiseMultiplier, c.Shares, ratio, maxClipOverShare, math.Sqrt(float64(c.Shares))/maxClipOverShare*(1+1e-3), math.Floor(math.Pow(maxClipOverShare*c.NoiseMultiplier, 2)))
	}
	if clip < 1 {
		return fmt.Errorf("noise multiplier %g is so large that the clip is below one lattice step: at most %.3g is possible with %d noise shares",
			c.NoiseMultiplier, math.Ldexp(math.Sqrt(float64(c.Shares)), sigmaBits-1), c.Shares)
	}
	perRelease := float64(c.Terms)*clip + float64(bound)
	most := math.Ceil(maxTotal/perRelease) - 1
	switch {
	case float64(c.Releases)*perRelease < maxTotal:
		return nil
	case most < 1:
		return fmt.Errorf("one release of %d vectors could overflow: at most %.0f vectors fit", c.Terms, math.Floor((maxTotal-float64(bound))/clip)-1)
	case float64(c.Releases)*float64(bound) >= maxTotal:
		return fmt.Errorf("the noise alone of %d releases could overflow: at most %.0f releases of %d vectors can be added up", c.Releases, most, c.Terms)
	default:
		return fmt.Errorf("%d releases of %d vectors could overflow: at most %.0f such releases can be added up; fewer vectors in each or a larger noise multiplier than %.6g let more of them fit", c.Releases, c.Terms, most, c.NoiseMultiplier)
	}
}

func (c Config) check() error {
	positive := func(name string, x float64) error {
		if !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("%s must be positive and finite, got %g", name, x)
		}
		return nil
	}
	atLeastOne := func(name string, n int) error {
		if n < 1 {
			return fmt.Errorf("%s must be at least 1, got %d", name, n)
		}
		return nil
	}
	atMost := func(name string, n, most int) error {
		if n > most {
			return fmt.Errorf("%s must be at most %d, got %d", name, most, n)
		}
		return nil
	}
	return errors.Join(
		positive("clip", c.Clip),
		positive("noise multiplier", c.NoiseMultiplier),
		atLeastOne("dimension", c.Dim),
		atMost("dimension", c.Dim, maxDim),
		atLeastOne("number of noise shares", c.Shares),
		atLeastOne("number of vectors in a release", c.Terms),
		atLeastOne("number of releases", c.Releases),
		c.Adjacency.Check(),
	)
}
