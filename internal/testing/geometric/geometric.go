// Package geometric has a law of geometric noise. With it, tests check that this module works with
// a [dpmech.Law] that is not Gaussian. No study uses this noise. It also shows how to write a law.
package geometric

import (
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
)

// Family has the laws whose probabilities are proportional to exp(−|k|/t), for integers t.
var Family = dpmech.Family{Name: "geometric", New: func(sd int64, _ float64) (dpmech.Law, error) {
	// With this t, the variance is above sd², because it is at least 2t² − 1/6.
	return law{int64(math.Ceil(float64(sd)*math.Sqrt2/2 + 0.1))}, nil
}}

type law struct{ t int64 }

// The absolute value of a sample is at most most times t. Without this limit, a sample would be
// larger with probability e^(−2^20), which is zero as a float64.
const most = 1 << 20

func (l law) Bound() int64 { return l.t * most }

func (l law) Mass(k int64) float64 {
	t := float64(l.t)
	return math.Tanh(1/(2*t)) * math.Exp(-math.Abs(float64(k))/t)
}

func (l law) Fill(dst []int64, src *dpmech.Stream) {
	for i := range dst {
		dst[i] = sample(uint64(l.t), src)
	}
}

// Event returns the privacy cost as a pure ε. If one element of a sum changes by s, the log
// probability of every result changes by at most s/t. If a vector is added to the sum, it therefore
// changes by at most the vector's L1 norm divided by t. The L1 norm is at most √dim times the L2
// norm. The noise shares of other clients do not depend on the data, so they do not increase the
// cost.
func (l law) Event(sensitivity float64, _, dim int, adjacency accountant.Adjacency) accountant.Event {
	epsilon := sensitivity * math.Sqrt(float64(dim)) / float64(l.t) * (1 + 0x1p-50)
	return accountant.Approximate{Epsilon: epsilon, Adjacency: adjacency}
}

// sample draws a number from the law with algorithm 2 of Canonne, Kamath and Steinke ("The Discrete
// Gaussian for Differential Privacy", 2020). It decides everything by comparing integers, so no
// rounding changes the probabilities.
func sample(t uint64, src *dpmech.Stream) int64 {
	for {
		u := src.Uint64n(t)
		if !expBelowOne(u, t, src) {
			continue
		}
		v := uint64(0)
		for v < most-1 && expBelowOne(1, 1, src) {
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

// expBelowOne returns true with probability e^(−a/b), for a ≤ b.
func expBelowOne(a, b uint64, src *dpmech.Stream) bool {
	for k := uint64(1); ; k++ {
		if src.Uint64n(b) >= a || src.Uint64n(k) != 0 {
			return k%2 == 1
		}
	}
}
