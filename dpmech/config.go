package dpmech

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
)

// sigmaBits determines the lattice step: the standard deviation σ of a noise share is between
// 2^(sigmaBits-1) and 2^sigmaBits lattice steps. For σ ≥ 2^20, the guarantee of the discrete
// Gaussian differs from that of the continuous Gaussian by far less than any δ in use (see
// [accountant.DiscreteGaussian]).
const sigmaBits = 24

// maxClipOverShare is the largest ratio of PerUnit·C to σ, where C is the clip and σ is the
// standard deviation of one noise share. The accountant assumes unbounded Gaussian noise, but
// samples are bounded. Up to this ratio, the bound on samples changes δ by at most e^(-2^20)·e^ε.
const maxClipOverShare = 1 << 10

// maxTotal bounds the absolute value of any sum of releases. This leaves one bit of an int64
// unused.
const maxTotal = 1 << 62

// Config describes a [Sum].
type Config struct {
	Dim  int     // number of elements in a vector, at least 1
	Clip float64 // C, the L2 bound on a vector's contribution to the sum

	// NoiseMultiplier is σ, the standard deviation of the noise in units of Clip. If a sum has
	// Shares noise shares, the standard deviation of its noise is σ·Clip.
	NoiseMultiplier float64

	// Shares is the number of independent noise shares that together have the standard deviation
	// NoiseMultiplier·Clip. If each release has all of the noise, Shares is 1. If at least U_min
	// releases are summed, and at most t of them are from colluding clients, which know their own
	// noise, it is U_min − t.
	Shares int

	Terms    int // sums of at most this many vectors are never changed by saturation; larger ones are limited to the same range
	Releases int // maximum number of releases that are summed before anyone can read the sum

	Adjacency accountant.Adjacency

	// PerUnit is the maximum number of vectors that one protected unit adds to a sum of releases. 0
	// means 1. It is above 1 if, for example, the unit is a person, and a release has a vector for
	// each of up to PerUnit rows of the person. By the triangle inequality, the sum changes by at
	// most PerUnit·C if the unit is added or removed, and by at most 2·PerUnit·C if it is replaced.
	PerUnit int

	// Aggregates is true if the protected unit is only part of the data behind a vector. For
	// example, each vector may be a fit to many records, while the unit is one record. Removing a
	// record then changes a vector instead of removing it, and the sensitivity is 2C under every
	// adjacency.
	Aggregates bool
}

// sensitivity returns the largest distance between the sums of two adjacent inputs, as a multiple
// of the clip C.
func (c Config) sensitivity(adjacency accountant.Adjacency) float64 {
	factor := adjacency.Factor()
	if c.Aggregates {
		factor = 2
	}
	return factor * float64(max(1, c.PerUnit))
}

// fitNoise returns an error if the clip is too large compared with sigma, the noise share's
// standard deviation, or if it is below one step. Both are in lattice steps.
func (c Config) fitNoise(clip float64, sigma int64) error {
	perUnit := float64(max(1, c.PerUnit))
	if ratio := perUnit * clip / float64(sigma); ratio > maxClipOverShare {
		return fmt.Errorf("with noise multiplier %.6g over %d noise shares one share is %.4g times smaller than the clip, and at most %d times is supported: use a noise multiplier of at least %.3g, or at most %.0f noise shares",
			c.NoiseMultiplier, c.Shares, ratio, maxClipOverShare, perUnit*math.Sqrt(float64(c.Shares))/maxClipOverShare*(1+1e-3), math.Floor(math.Pow(maxClipOverShare*c.NoiseMultiplier/perUnit, 2)))
	}
	if clip < 1 {
		return fmt.Errorf("noise multiplier %g is so large that the clip is below one lattice step: use at most %.3g with %d noise shares",
			c.NoiseMultiplier, math.Ldexp(math.Sqrt(float64(c.Shares)), sigmaBits-1), c.Shares)
	}
	return nil
}

// fit returns an error if a sum could overflow, for a clip of C lattice steps.
//
// Proof that no sum overflows: an element of a vector is at most C in absolute value, because the
// norm is at most C. A saturated sum of the vectors of a release is at most Terms·C, and a noise
// sample is at most bound. Any sum of at most Releases releases, or of parts of releases, is
// therefore at most Releases·(Terms·C + bound). Computing this number in floats takes four
// roundings, each by less than 2^-52 of the value. If the result is less than 2^62, the number is
// below 2^62·(1+2^-49) < 2^63.
func (c Config) fit(clip float64, bound int64) error {
	perRelease := float64(c.Terms)*clip + float64(bound)
	most := math.Ceil(maxTotal/perRelease) - 1
	switch {
	case float64(c.Releases)*perRelease < maxTotal:
		return nil
	case most < 1:
		return fmt.Errorf("one release of %d vectors could overflow: use at most %.0f vectors", c.Terms, math.Floor((maxTotal-float64(bound))/clip)-1)
	case float64(c.Releases)*float64(bound) >= maxTotal:
		return fmt.Errorf("the noise alone of %d releases could overflow: use at most %.0f releases of %d vectors", c.Releases, most, c.Terms)
	default:
		return fmt.Errorf("%d releases of %d vectors could overflow: use at most %.0f such releases, fewer vectors in each, or a noise multiplier larger than %.6g", c.Releases, c.Terms, most, c.NoiseMultiplier)
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
		atLeastOne("number of vectors of a protected unit, plus 1,", c.PerUnit+1),
		c.Adjacency.Check(),
	)
}
