package truth

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Without noise, a client whose information is Λ and whose effect has covariance Σ must add (Λ⁻¹ +
// Σ)⁻¹ to the precision. With a lot of noise, the ideal must be the prior.
func TestIdealOfClients(t *testing.T) {
	m, clients, _ := regressions(t, find(t, "family=logistic,unit=client,records=2000,coefficients=3,split=balanced"), 1)
	f := pooledOf(t, m, clients)
	for _, between := range [][]float64{nil, {.1, .4, 2}} {
		without, err := f.idealOfClients(1e-9, between)
		if err != nil {
			t.Fatal(err)
		}
		nothing, err := f.idealOfClients(1e9, between)
		if err != nil {
			t.Fatal(err)
		}
		want := mat.NewDense(3, 3, nil)
		for i, p := range f.prior {
			want.Set(i, i, p)
		}
		for _, c := range clients {
			_, information, err := c.Score(f.mode)
			if err != nil {
				t.Fatal(err)
			}
			var own mat.Dense
			if err := own.Inverse(information); err != nil {
				t.Fatal(err)
			}
			for i, v := range between {
				own.Set(i, i, own.At(i, i)+v)
			}
			if err := own.Inverse(&own); err != nil {
				t.Fatal(err)
			}
			want.Add(want, &own)
		}
		if err := want.Inverse(want); err != nil {
			t.Fatal(err)
		}
		for i, got := range without {
			if math.Abs(got/want.At(i, i)-1) > 1e-6 {
				t.Errorf("differences %v: without noise variance %d is %g, want %g", between, i, got, want.At(i, i))
			}
			if prior := 1 / f.prior[i]; math.Abs(nothing[i]/prior-1) > 1e-6 {
				t.Errorf("differences %v: with noise alone variance %d is %g, want %g", between, i, nothing[i], prior)
			}
		}
	}
}

// The client has two coordinates, the clip is 1, and the norm of the score is 2. So the slope ρ of
// the clip is 1/4 (see [pooled.idealOfClients]), and the variance from the noise is multiplied by
// 16.
func TestIdealOfClippedClient(t *testing.T) {
	const h, sd, clip = 50, 3, 1
	unit := math.Sqrt(h)
	client := &contributor{information: scaled(h), white: mat.NewVecDense(2, nil), norm: 2}
	lower := mat.NewTriDense(2, mat.Lower, []float64{unit, 0, 0, unit})
	variance, err := afterClips([]*contributor{client}, clip, sd, scaled(1e-9), lower)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1./h + 16*unit*unit*sd*sd/(h*h); math.Abs(variance[0]/want-1) > 1e-6 {
		t.Errorf("variance %g, want %g", variance[0], want)
	}
}

func scaled(x float64) *mat.SymDense { return mat.NewSymDense(2, []float64{x, 0, 0, x}) }
