package solver

import "gonum.org/v1/gonum/mat"

// Score returns the gradient of the log likelihood of all records at theta, and their Fisher
// information. It returns an error if the outcome is not [Described].
func (r *Regression) Score(theta []float64) ([]float64, *mat.SymDense, error) {
	response, err := r.outcome.Described()
	if err != nil {
		return nil, nil, err
	}
	k := response.Size()
	gradient, information := make([]float64, r.dim), mat.NewSymDense(r.dim, nil)
	upper := information.RawSymmetric().Data
	eta, g, w := make([]float64, k), make([]float64, k), make([]float64, k*k)
	h := make([]float64, k*k)
	for i, y := range r.y {
		r.Predictors(eta, i, theta)
		response.Eval(y, eta, g, h)
		clear(w)
		response.Information(eta, w)
		for a := range k {
			indexA, valueA := r.design.Row(i*k + a)
			for n, row := range indexA {
				gradient[row] += g[a] * valueA[n]
			}
			for b := range k {
				indexB, valueB := r.design.Row(i*k + b)
				for n, row := range indexA {
					scaled := w[a*k+b] * valueA[n]
					for m, column := range indexB {
						if column >= row {
							upper[int(row)*r.dim+int(column)] += scaled * valueB[m]
						}
					}
				}
			}
		}
	}
	return gradient, information, nil
}
