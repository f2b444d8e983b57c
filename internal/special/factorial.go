package special

import "math"

// logFactorials holds log k! for k below 256.
var logFactorials = func() (t [256]float64) {
	for k := range t {
		t[k] = Lgamma(float64(k) + 1)
	}
	return t
}()

// LogFactorial returns log k! for a whole k ≥ 0.
func LogFactorial(k float64) float64 {
	if k >= 0 && k < float64(len(logFactorials)) {
		return logFactorials[int(k)]
	}
	return Lgamma(k + 1)
}

// LogRising returns log Γ(x+k) − log Γ(x) and its derivative with respect to x, for x > 0 and an
// integer k ≥ 0. It avoids cancellation for large x.
func LogRising(x, k float64) (value, slope float64) {
	switch {
	case k <= 16:
		product := 1.
		for j := range int(k) {
			f := x + float64(j)
			product *= f
			slope += 1 / f
		}
		if product < math.MaxFloat64 && product > 0x1p-1000 {
			return math.Log(product), slope
		}
		for j := range int(k) {
			value += math.Log(x + float64(j))
		}
		return value, slope
	case x < 32:
		return Lgamma(x+k) - Lgamma(x), Digamma(x+k) - Digamma(x)
	}
	// The result is the difference between Stirling's series at x+k and at x. The leading terms are
	// combined.
	y, r := x+k, math.Log1p(k/x)
	value = (x-.5)*r + k*math.Log(y) - k + stirling(y) - stirling(x)
	return value, r + digammaTail(y) - digammaTail(x)
}

// stirling returns log Γ(x) − (x−½) log x + x − ½ log 2π, to within 1e-17 for x ≥ 32.
func stirling(x float64) float64 {
	i := 1 / x
	s := i * i
	return i * (1./12 - s*(1./360-s*(1./1260-s/1680)))
}

// digammaTail returns ψ(x) − log x for x ≥ 32.
func digammaTail(x float64) float64 {
	s := 1 / (x * x)
	return -.5/x - s*(1./12-s*(1./120-s*(1./252-s/240)))
}
