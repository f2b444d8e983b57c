package special

import "math"

// HalfLogTwoPi is log(2π)/2.
const HalfLogTwoPi = 0.918938533204672741780329736405617639861397473637783412817151540

// Finite reports whether no element of v is infinite or NaN.
func Finite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
