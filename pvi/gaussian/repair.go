package gaussian

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// RepairLikelihood replaces a Gaussian factor over R^d, in the layout of [Full], by the nearest
// factor that a likelihood could have. Along eigenvectors of the precision with negative
// eigenvalues, it sets the factor to zero. Noise causes these where the records have little
// information.
func RepairLikelihood(d int, factor []float64) error {
	mustHave(len(factor), full(d).Size(), "factor")
	entries := full(d).Precision()
	precision := mat.NewSymDense(d, nil)
	for k, at := range entries {
		precision.SetSym(at[0], at[1], factor[d+k])
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(precision, true) {
		return fmt.Errorf("gaussian: the eigenvalues of a %d × %d precision were not found", d, d)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	h := mat.NewVecDense(d, factor[:d])
	var along mat.VecDense
	along.MulVec(vectors.T(), h)
	for i, v := range values {
		if v <= 0 {
			values[i] = 0
			along.SetVec(i, 0)
		}
	}
	h.MulVec(&vectors, &along)
	var scaled, repaired mat.Dense
	scaled.Mul(&vectors, mat.NewDiagDense(d, values))
	repaired.Mul(&scaled, vectors.T())
	for k, at := range entries {
		factor[d+k] = repaired.At(at[0], at[1])
	}
	return nil
}
