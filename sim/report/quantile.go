package report

import (
	"math"
	"slices"
)

// Quantile returns the quantile p of values, or NaN if there are none. For n sorted values it is at
// index p(n−1), with linear interpolation (Hyndman and Fan 1996, definition 7). The median of an
// even number of values is thus the mean of the two middle values.
func Quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	place := p * float64(len(sorted)-1)
	below := int(place)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
}
