package accountant

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

const (
	invSqrt2Pi = 0.398942280401432677939946059934381868475858631164934657665925829670657925899301838501252333907306936
	logSqrt2Pi = 0.918938533204672741780329736405617639861397473637783412817151540482765695927260397694743298635954
	sqrtHalfPi = 1.253314137315500251207882642405522626503493370304969158314961788171146827303923987
)

// normalDensity returns φ(x).
func normalDensity(x float64) float64 { return invSqrt2Pi * math.Exp(-x*x/2) }

// normalCDF returns Φ(x).
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// millsTail returns the continued fraction
//
//	K = 1/(x + 2/(x + 3/(x + ...))).
//
// Mills' ratio is 1/(x + K) (Abramowitz and Stegun 26.2.14). For x ≥ 2.5, the fraction converges
// within 154 terms.
func millsTail(x float64) float64 {
	k := x
	for n := millsTerms(x); n >= 2; n-- {
		k = x + float64(n)/k
	}
	return 1 / k
}

// millsTerms returns how many terms the continued fraction of [millsTail] needs to converge at x.
func millsTerms(x float64) int { return 10 + int(900/(x*x)) }

// Above millsSwitch, mills uses the continued fraction instead of the complementary error function.
const millsSwitch = 2.5

// mills returns Mills' ratio (1 − Φ(x))/φ(x). If x is below −38, it overflows.
func mills(x float64) float64 {
	if x < millsSwitch {
		return sqrtHalfPi * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
	}
	return 1 / (x + millsTail(x))
}

// millsSlope returns −d/dx mills(x) = 1 − x·mills(x), which is positive and decreasing.
func millsSlope(x float64) float64 {
	if x < millsSwitch {
		return 1 - x*mills(x)
	}
	k := millsTail(x)
	return k / (x + k)
}

// millsSlopes replaces each element of x by its millsSlope. A continued fraction is a chain of
// divisions, and a processor can work on four chains at once.
func millsSlopes(x *[4]float64) {
	if slices.Min(x[:]) < millsSwitch {
		for i := range x {
			x[i] = millsSlope(x[i])
		}
		return
	}
	k, shared := *x, math.MaxInt
	for i := range x {
		shared = min(shared, millsTerms(x[i]))
	}
	shared = max(shared, 1) // if x is NaN, millsTerms may return anything, even a negative number
	for i := range x {
		for n := millsTerms(x[i]); n > shared; n-- {
			k[i] = x[i] + float64(n)/k[i]
		}
	}
	a, b, c, d := k[0], k[1], k[2], k[3]
	for n := shared; n >= 2; n-- {
		f := float64(n)
		a, b, c, d = x[0]+f/a, x[1]+f/b, x[2]+f/c, x[3]+f/d
	}
	for i, k := range [4]float64{a, b, c, d} {
		x[i] = 1 / k / (x[i] + 1/k)
	}
}

// millsDrop returns mills(x) − mills(x+h) for h > 0, without cancellation for small h.
func millsDrop(x, h float64) float64 {
	if h > max(1, x) {
		return mills(x) - mills(x+h)
	}
	slopes := legendre.nodes
	for i, node := range slopes {
		slopes[i] = x + h/2 + h/2*node
	}
	for i := 0; i < len(slopes); i += 4 {
		millsSlopes((*[4]float64)(slopes[i:]))
	}
	var sum float64
	for i, slope := range slopes {
		sum += legendre.weights[i] * slope
	}
	return h / 2 * sum
}

// legendre contains the Gauss-Legendre rule with 24 nodes on [−1, 1].
var legendre = func() (rule struct{ nodes, weights [24]float64 }) {
	quad.Legendre{}.FixedLocations(rule.nodes[:], rule.weights[:], -1, 1)
	return rule
}()
