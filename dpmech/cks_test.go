package dpmech_test

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// cksGaussian samples the discrete Gaussian for an integer σ by algorithms 1 to 3 of Canonne,
// Kamath and Steinke ("The Discrete Gaussian for Differential Privacy", 2020). It shares no code
// with the sampler of dpmech, and serves as an independent reference.

func cksGaussian(sigma uint64, src *dpmech.Stream) int64 {
	t := sigma + 1
	for {
		y := cksLaplace(t, src)
		// The exponent of exp(−(|y| − σ²/t)²/2σ²) is computed in integers.
		a := int64(max(y, -y))*int64(t) - int64(sigma*sigma)
		if cksExp(uint64(a)*uint64(a), 2*sigma*sigma*t*t, src) {
			return y
		}
	}
}

func cksLaplace(t uint64, src *dpmech.Stream) int64 {
	for {
		u := src.Uint64n(t)
		if !cksExpBelowOne(u, t, src) {
			continue
		}
		v := uint64(0)
		for cksExpBelowOne(1, 1, src) {
			v++
		}
		x := int64(u + t*v)
		if src.Uint64n(2) == 0 {
			return x
		}
		if x != 0 {
			return -x
		}
	}
}

// cksExp returns true with probability e^(−a/b).
func cksExp(a, b uint64, src *dpmech.Stream) bool {
	for ; a > b; a -= b {
		if !cksExpBelowOne(1, 1, src) {
			return false
		}
	}
	return cksExpBelowOne(a, b, src)
}

func cksExpBelowOne(a, b uint64, src *dpmech.Stream) bool {
	for k := uint64(1); ; k++ {
		if src.Uint64n(b) >= a || src.Uint64n(k) != 0 {
			return k%2 == 1
		}
	}
}

// The test compares DiscreteGaussian with cksGaussian by a χ² test of two samples.
func TestDiscreteGaussianIsTheReference(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	const n = 200_000
	for _, sigma := range []int64{1, 3, 40, 10_000} {
		t.Run(fmt.Sprint(sigma), func(t *testing.T) {
			g, err := dpmech.NewDiscreteGaussian(sigma)
			if err != nil {
				t.Fatal(err)
			}
			cells := cellsOf(float64(sigma))
			ours, theirs := make([]float64, len(cells.p)), make([]float64, len(cells.p))
			samples := make([]int64, n)
			g.Fill(samples, seeded.Stream(31, "ours", uint64(sigma)))
			reference := seeded.Stream(31, "reference", uint64(sigma))
			for _, x := range samples {
				ours[cells.of(x)]++
				theirs[cells.of(cksGaussian(uint64(sigma), reference))]++
			}
			statistic, used := 0.0, -1.0
			for i, a := range ours {
				if b := theirs[i]; a+b >= 10 { // a cell with fewer than ten draws has too few for the χ² test
					statistic += (a - b) * (a - b) / (a + b)
					used++
				}
			}
			if p := (distuv.ChiSquared{K: used}).Survival(statistic); p < rejectBelow {
				t.Errorf("χ² distinguishes the samplers, p = %.2g", p)
			}
		})
	}
}
