package population

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// drawSpread returns n draws of the covariance J of clients' gradients. released is J plus
// isotropic noise of the given sd. alike is the value of J if all clients had the same distribution
// of records.
//
// J is a multiple of alike plus an isotropic deviation in the Frobenius norm. The sd of the
// deviation relative to alike is one of spreadSDs, weighted by the evidence.
func drawSpread(released *mat.SymDense, sd float64, alike *mat.SymDense, from *source, n int) []*mat.SymDense {
	d := alike.SymmetricDim()
	size, squares := packedSize(d), inner(alike, alike)
	multiple := math.Max(inner(released, alike)/squares, 0)
	deviation := plus(released, -multiple, alike)
	distance := inner(deviation, deviation)

	kept, logs := make([]float64, len(spreadSDs)), make([]float64, len(spreadSDs))
	for i, relative := range spreadSDs {
		scale := relative * math.Sqrt(squares/float64(d)) * math.Max(multiple, 1)
		variance := scale*scale + sd*sd
		kept[i] = scale * scale / variance
		logs[i] = -(distance/variance + float64(size-1)*math.Log(variance)) / 2
	}
	weights := proportions(logs)

	all := make([]*mat.SymDense, n)
	noise := make([]float64, size)
	for k := range all {
		i := from.choose(weights)
		a := math.Max(multiple+sd/math.Sqrt(squares)*from.next(), 0)
		from.fill(noise)
		all[k] = plus(plus(unpack(d, noise, math.Sqrt(kept[i])*sd), kept[i], deviation), a, alike)
	}
	return all
}
