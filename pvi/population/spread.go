package population

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// drawSpread returns n draws of the covariance J of the clients' gradients. released is J plus
// isotropic noise with the given standard deviation. alike is what J would be if the distribution
// of records were the same at all clients.
//
// J is modelled as a multiple of alike plus an isotropic deviation in the Frobenius norm. Relative
// to alike, the deviation has one of spreadSDs as standard deviation, which are weighted by the
// evidence.
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
