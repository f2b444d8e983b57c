package accountant

import (
	"math"

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

// millsTail returns the continued fraction K = 1/(x + 2/(x + 3/(x + ...))). Mills' ratio is 1/(x +
// K) (Abramowitz and Stegun 26.2.14). The fraction converges in fewer than 150 terms for x ≥ 2.5.
func millsTail(x float64) float64 {
	terms := 10 + int(900/(x*x))
	k := x
	for n := terms; n >= 2; n-- {
		k = x + float64(n)/k
	}
	return 1 / k
}

// millsSwitch is the x above which the function mills uses the continued fraction. Below
// millsSwitch it uses the complementary error function.
const millsSwitch = 2.5

// mills returns Mills' ratio (1 − Φ(x))/φ(x). It overflows for x below −38.
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

// millsDrop returns mills(x) − mills(x+h) for h > 0. It avoids cancellation if h is small compared
// with the scale on which Mills' ratio changes.
func millsDrop(x, h float64) float64 {
	if h > max(1, x) {
		return mills(x) - mills(x+h)
	}
	var sum float64
	for i, node := range legendre.nodes {
		sum += legendre.weights[i] * millsSlope(x+h/2+h/2*node)
	}
	return h / 2 * sum
}

// legendre contains the Gauss-Legendre rule with 24 nodes on [−1, 1].
var legendre = func() (rule struct{ nodes, weights [24]float64 }) {
	quad.Legendre{}.FixedLocations(rule.nodes[:], rule.weights[:], -1, 1)
	return rule
}()
