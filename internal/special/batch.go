package special

import "math"

// ExpAll writes eˣ for every element of x to dst, which may be x.
func ExpAll(dst, x []float64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = math.Exp(x[i])
	}
}

// LogAll writes log x for every element of x to dst, which may be x.
func LogAll(dst, x []float64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = math.Log(x[i])
	}
}

// Log1pAll writes log(1+x) for every element of x to dst, which may be x.
func Log1pAll(dst, x []float64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = math.Log1p(x[i])
	}
}
