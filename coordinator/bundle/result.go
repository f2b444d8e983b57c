package bundle

import (
	"encoding/json"
	"errors"
	"math"
	"slices"

	"fedpvi/pvi/session"
)

// rounding is by how much two machines may differ, relative to the size of a number, in
// what they compute from the same λ: products and sums are fused on some processors.
const rounding = 1e-8

var errPosterior = errors.New("the posterior is not the one that follows from the sums that were opened")

// same compares a result with the one that was published. λ, which is exact on every
// machine, and all that is counted must be equal; moments may be rounded another way.
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
	// With the moments of the one in the other, what is left must be equal.
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

// moments are the numbers of a result that are computed from λ.
func moments(r *session.Result) [][]float64 {
	all := append([][]float64{r.Mean, r.SD}, r.Covariance...)
	if a := r.NoiseAware; a != nil {
		all = append(all, a.Mean, a.SD, []float64{a.GradientNoise, a.CurvatureNoise})
		all = append(all, a.Covariance...)
	}
	return all
}

// near compares two lists, relative to the largest number in them.
func near(a, b []float64) bool {
	scale := 0.0
	for _, x := range a {
		scale = max(scale, math.Abs(x))
	}
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= rounding*scale })
}
