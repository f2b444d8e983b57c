package gaussian_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
)

// A posterior is the prior times a factor for each client, so its natural parameters are a sum. The
// cavity of a client is the posterior without the client's factor, so its natural parameters are a
// difference.
func Example() {
	family := gaussian.Diagonal(2)
	prior := make([]float64, family.Size())
	if err := family.FromMoments(prior, []float64{0, 0}, mat.NewDiagDense(2, []float64{1, 1})); err != nil {
		fmt.Println(err)
		return
	}
	factor := []float64{6, 1, 3, 0} // precision times mean (6, 1), then precision (3, 0)

	posterior, cavity := make([]float64, family.Size()), make([]float64, family.Size())
	for i := range posterior {
		posterior[i] = prior[i] + factor[i]
		cavity[i] = posterior[i] - factor[i]
	}
	mean, variance, err := family.Marginals(posterior)
	fmt.Println(mean, variance, err)
	divergence, err := family.KL(posterior, cavity)
	fmt.Printf("%.4f %v\n", divergence, err)
	// Output:
	// [1.5 1] [0.25 1] <nil>
	// 1.9431 <nil>
}

// Noise may give a factor a negative precision, which no likelihood has. RepairLikelihood sets the
// factor to zero along such directions.
func ExampleRepairLikelihood() {
	factor := []float64{2, -1, 4, 0, -0.5} // h, then the lower triangle of Λ
	fmt.Println(gaussian.Full(2).Check(factor) != nil)
	if err := gaussian.RepairLikelihood(2, factor); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f\n", factor)
	// Output:
	// true
	// [2.0 0.0 4.0 0.0 0.0]
}
