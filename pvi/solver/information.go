package solver

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/internal/guard"
	"fedpvi/pvi/onestep"
)

// An informative response has a Fisher information that is bounded over all predictors.
type informative interface {
	Described

	// most returns an upper bound on the Frobenius norm of the Fisher information.
	most() float64
}

func (logit) Information(eta, w []float64) {
	e := math.Exp(-math.Abs(eta[0]))
	w[0] = e / ((1 + e) * (1 + e))
}

func (logit) most() float64 { return 1. / 4 }

// Information implements informative. The information is φ(η)²/(Φ(η)(1−Φ(η))), which is at most
// 2/π.
func (probit) Information(eta, w []float64) {
	_, above := logNormalCDF(eta[0])
	_, below := logNormalCDF(-eta[0])
	w[0] = above * below
}

func (probit) most() float64 { return 2 / math.Pi }

func (k knownNormal) Information(_, w []float64) { w[0] = 1 / k.variance }

func (k knownNormal) most() float64 { return 1 / k.variance }

// Information implements informative. The Fisher information is diag(p) − ppᵀ, where p holds the
// probabilities of all classes except the first.
func (s softmax) Information(eta, w []float64) {
	k := len(eta)
	p := make([]float64, k)
	chances(p, eta)
	for a := range k {
		for b := range k {
			w[a*k+b] = -p[a] * p[b]
		}
		w[a*k+a] = p[a] * (1 - p[a])
	}
}

// The norm is largest if two classes have probability ½ each.
func (s softmax) most() float64 {
	if s.classes == 2 {
		return 1. / 4
	}
	return 1. / 2
}

// Information returns a public upper bound on the Frobenius norm of a record's Fisher information
// about its predictors, or an error if none is known.
func (o Outcome) Information() (float64, error) {
	if o.Effects > 0 {
		return 0, errors.New("the curvature of coefficients that vary between groups has no public bound")
	}
	r, ok := o.Response().(informative)
	if !ok {
		return 0, fmt.Errorf("the curvature of a record of a %s model has no public bound", o.Family)
	}
	return r.most(), nil
}

// EachGradient calls add with the gradient of every record's log likelihood at theta, except for
// records whose computation panics. add must not keep the slice. The first error of add ends the
// loop.
func (r *Regression) EachGradient(theta []float64, add func([]float64) error) error {
	k := r.response.Size()
	eta, g, h := make([]float64, k), make([]float64, k), make([]float64, k*k)
	gradient := make([]float64, r.dim)
	for i, y := range r.y {
		clear(gradient)
		if guard.Run(func() {
			r.Predictors(eta, i, theta)
			r.response.Eval(y, eta, g, h)
		}) != nil {
			continue
		}
		for a, slope := range g {
			index, value := r.design.Row(i*k + a)
			for n, j := range index {
				gradient[j] += slope * value[n]
			}
		}
		if err := add(gradient); err != nil {
			return err
		}
	}
	return nil
}

// EachInformation calls add with every record's Fisher information about θ at theta, packed as in
// package onestep. It skips records whose computation panics. add must not keep the slice. The
// information must be bounded (see [Outcome.Information]).
func (r *Regression) EachInformation(theta []float64, add func([]float64) error) error {
	response, ok := r.response.(informative)
	if !ok {
		return errors.New("the model's information is not bounded")
	}
	k := response.Size()
	eta, w := make([]float64, k), make([]float64, k*k)
	packed := make([]float64, onestep.Size(r.dim))
	for i := range r.y {
		clear(packed)
		if guard.Run(func() {
			r.Predictors(eta, i, theta)
			response.Information(eta, w)
		}) != nil {
			continue
		}
		for a := range k {
			indexA, valueA := r.design.Row(i*k + a)
			for b := range k {
				indexB, valueB := r.design.Row(i*k + b)
				onestep.AddOuter(packed, w[a*k+b], indexA, valueA, indexB, valueB)
			}
		}
		if err := add(packed); err != nil {
			return err
		}
	}
	return nil
}
