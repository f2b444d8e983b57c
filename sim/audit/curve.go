package audit

import (
	"math"
	"slices"
)

// shownRates are the false-positive rates at which trade-off curves are drawn.
var shownRates = func() []float64 {
	var rates []float64
	for e := -3.0; e < -0.2; e += 0.25 {
		rates = append(rates, math.Pow(10, e))
	}
	return append(rates, 0.65, 0.8, 0.9, 0.97)
}()

// best returns the trade-off curve of the statistic with the largest area under its curve. This is
// only for plots: a test must not choose its statistic by the runs on which it tests the claim.
func best(statistics []statistic, worlds [2][][]float64) []Rate {
	var chosen []Rate
	area := -1.0
	for _, s := range statistics {
		null, other := descending(scores(s, worlds[0]), 1), descending(scores(s, worlds[1]), 1)
		curve := make([]Rate, len(shownRates))
		var a float64
		for i, fpr := range shownRates {
			threshold := null[min(int(fpr*float64(len(null))), len(null)-1)]
			n, _ := slices.BinarySearchFunc(other, threshold, func(x, t float64) int {
				if x > t {
					return -1
				}
				return 1
			})
			curve[i] = Rate{fpr, float64(n) / float64(len(other))}
			a += curve[i].TPR
		}
		if a > area {
			chosen, area = curve, a
		}
	}
	return chosen
}
