package bundle

import (
	"encoding/json"
	"errors"
	"math"
	"slices"

	"fedpvi/pvi/session"
)

// rounding is the tolerance, as a relative difference, for moments that two machines compute from
// the same λ. Some CPUs round once after a multiplication and an addition, and others after each
// operation.
const rounding = 1e-8

var errPosterior = errors.New("the posterior does not follow from the published sums")

// same returns an error unless the published result agrees with own, the result that was recomputed
// from the transcript. λ and all counts must be equal. The moments may differ by rounding errors.
func same(own *session.Result, published []byte) error {
	var said session.Result
	if err := json.Unmarshal(published, &said); err != nil {
		return errPosterior
	}
	again, err := said.Bytes()
	if err != nil || string(again) != string(published) || !slices.Equal(own.Natural, said.Natural) {
		return errPosterior
	}
	mine, theirs := moments(own), moments(&said)
	if len(mine) != len(theirs) || own.NoiseAware != nil && own.NoiseAware.Method != said.NoiseAware.Method {
		return errPosterior
	}
	for i, list := range mine {
		if !near(list, theirs[i]) {
			return errPosterior
		}
	}
	// Apart from the moments, the published result must have the same encoding as own.
	rest := said
	rest.Mean, rest.SD, rest.Covariance, rest.NoiseAware = own.Mean, own.SD, own.Covariance, own.NoiseAware
	a, err := own.Bytes()
	if err != nil {
		return err
	}
	b, err := rest.Bytes()
	if err != nil || string(a) != string(b) {
		return errPosterior
	}
	return nil
}

// moments returns the numbers in a result that are computed from λ in floating-point arithmetic.
func moments(r *session.Result) [][]float64 {
	all := append([][]float64{r.Mean, r.SD}, r.Covariance...)
	if a := r.NoiseAware; a != nil {
		all = append(all, a.Mean, a.SD, []float64{a.GradientNoise, a.CurvatureNoise})
		all = append(all, a.Covariance...)
	}
	return all
}

// near reports whether a and b agree to within rounding times the largest absolute value in a.
func near(a, b []float64) bool {
	scale := 0.0
	for _, x := range a {
		scale = max(scale, math.Abs(x))
	}
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= rounding*scale })
}
