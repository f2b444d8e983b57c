package special

import "math"

// NormalRatioAll writes φ(x)/Φ(x) for every element of x to dst, which may not be x. φ and Φ are
// the density and the distribution function of the standard normal distribution. The relative error
// is below 1e-15, and below 1e-15·x² for x above 1. The result for an element does not depend on
// the number of elements.
//
// The result is computed from the Mills ratio M of t = |x|:
//
//	M = (1 − Φ(t))/φ(t)
//	φ(x)/Φ(x) = 1/M if x < 0, and φ(x)/(1 − φ(x)·M) otherwise
func NormalRatioAll(dst, x []float64) {
	x = x[:len(dst)]
	for i, u := range x {
		dst[i] = -float64(float64(u*u) * .5)
	}
	ExpAll(dst, dst)
	for i, u := range x {
		t := math.Abs(u)
		density := dst[i] * overRoot2Pi
		if !(t < millsEnd) {
			if dst[i] = density; u < 0 { // if u is large, Φ(u) rounds to 1
				dst[i] = 1 / mills(t)
			}
			continue
		}
		ratio := nearMills(t)
		// The code avoids a branch, because CPUs would often predict it wrongly.
		negative := uint64(int64(math.Float64bits(u)) >> 63)
		above := math.Float64bits(density)&^negative | math.Float64bits(1)&negative
		below := math.Float64bits(1-float64(density*ratio))&^negative | math.Float64bits(ratio)&negative
		dst[i] = math.Float64frombits(above) / math.Float64frombits(below)
	}
}

const (
	overRoot2Pi = .398942280401432677939946059934381868475858631164934657665925829670657925899301838501252333907306936430302558863518

	millsEnd     = 8  // end of the table's range
	millsPerUnit = 8  // number of table rows for an interval of length 1
	millsTerms   = 10 // number of terms of a polynomial; the first omitted one is below 4e-16 times the first
)

// nearMills returns the Mills ratio of t in [0, 8).
func nearMills(t float64) float64 {
	k := int(t * millsPerUnit)
	a := &millsTable[uint(k)%uint(len(millsTable))]
	u := t - (float64(k)+.5)*(1./millsPerUnit)
	u2 := float64(u * u)
	u4 := float64(u2 * u2)
	low := (a[0] + float64(a[1]*u)) + float64((a[2]+float64(a[3]*u))*u2)
	high := (a[4] + float64(a[5]*u)) + float64((a[6]+float64(a[7]*u))*u2)
	return low + float64((high+float64((a[8]+float64(a[9]*u))*u4))*u4)
}

// millsTable holds a Taylor series of the Mills ratio M for each interval of length ⅛, around its
// midpoint. Because M′ = tM − 1, all terms follow from the first, which is M at the midpoint. For
// the largest t, a continued fraction gives this term. For any other t, the series of the next
// higher interval gives it. Errors shrink as t decreases.
var millsTable = func() (table [millsEnd * millsPerUnit][millsTerms]float64) {
	const half, all = .5 / millsPerUnit, 24
	last := millsEnd - half
	value := mills(last)
	for k := len(table) - 1; k >= 0; k-- {
		t := (float64(k) + .5) / millsPerUnit
		var terms [all]float64
		terms[0], terms[1] = value, t*value-1
		for n := 1; n+1 < all; n++ {
			terms[n+1] = (t*terms[n] + terms[n-1]) / float64(n+1)
		}
		copy(table[k][:], terms[:])
		value = 0
		for n := all - 1; n >= 0; n-- {
			value = terms[n] - value*(2*half)
		}
	}
	return table
}()
