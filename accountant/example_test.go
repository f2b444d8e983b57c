package accountant_test

import (
	"fmt"

	"fedpvi/accountant"
)

// The example computes the cost of 1,000 steps of DP-SGD, with Poisson batches of rate 0.01. The
// standard deviation of the noise is equal to the clip norm.
func ExampleAccount() {
	steps := accountant.Repeated{
		Event: accountant.Poisson{Rate: 0.01, Sigma: 1, Adjacency: accountant.AddRemove},
		Times: 1000,
	}
	profile, err := accountant.Account(steps)
	if err != nil {
		panic(err)
	}
	epsilon, err := profile.Epsilon(1e-5)
	if err != nil {
		panic(err)
	}
	fmt.Printf("at δ = 1e-5, ε ≤ %.3f and ε ≥ %.3f, certified %t\n", epsilon.Upper, epsilon.Lower, epsilon.Certified)
	// Output:
	// at δ = 1e-5, ε ≤ 1.828 and ε ≥ 1.828, certified true
}

func ExampleComposed() {
	profile, err := accountant.Account(accountant.Composed{
		accountant.Gaussian{Sensitivity: 1, Sigma: 20, Adjacency: accountant.AddRemove}, // one release for the scale of the columns
		accountant.Repeated{
			Event: accountant.Poisson{Rate: 0.01, Sigma: 1, Adjacency: accountant.AddRemove},
			Times: 1000,
		},
	})
	if err != nil {
		panic(err)
	}
	epsilon, err := profile.Epsilon(1e-5)
	if err != nil {
		panic(err)
	}
	fmt.Printf("ε ≤ %.3f\n", epsilon.Upper)

	_, err = accountant.Account(accountant.Composed{
		accountant.Gaussian{Sensitivity: 1, Sigma: 20, Adjacency: accountant.AddRemove},
		accountant.Gaussian{Sensitivity: 2, Sigma: 20, Adjacency: accountant.ReplaceOne},
	})
	fmt.Println(err)
	// Output:
	// ε ≤ 1.839
	// account: gaussian event: cannot add a release accounted under "replace-one" to one under "add-remove": use one adjacency for all releases
}

// Find the noise multiplier for which 1,000 steps meet ε = 1 at δ = 1e-5.
func ExampleCalibrateNoise() {
	target := accountant.Target{Epsilon: 1, Delta: 1e-5}
	noise, err := accountant.CalibrateNoise(target, func(sigma float64) (accountant.Event, error) {
		step := accountant.Poisson{Rate: 0.01, Sigma: sigma, Adjacency: accountant.AddRemove}
		return accountant.Repeated{Event: step, Times: 1000}, nil
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("noise multiplier %.3f, ε ≤ %.3f\n", noise.Value, noise.Cost.Upper)
	// Output:
	// noise multiplier 1.415, ε ≤ 1.000
}

// A lifetime budget refuses the release that would exceed it.
func ExampleFilter() {
	budget, err := accountant.NewGaussianFilter(accountant.Target{Epsilon: 1, Delta: 1e-5}, accountant.AddRemove)
	if err != nil {
		panic(err)
	}
	release := accountant.Gaussian{Sensitivity: 1, Sigma: 10, Adjacency: accountant.AddRemove}
	admitted := 0
	for err == nil {
		if err = budget.Charge(release); err == nil {
			admitted++
		}
	}
	fmt.Println(admitted, "releases")
	fmt.Println(err)
	// Output:
	// 7 releases
	// the release costs 0.01 of squared Gaussian-DP parameter μ², and 0.0018514 of 0.0718514 is left: multiply the noise by about 2.33, or release less
}

// Bound the success of an attacker who guesses whether a record was used.
func ExampleProfile_TruePositiveRate() {
	profile, err := accountant.Account(accountant.Gaussian{Sensitivity: 1, Sigma: 2, Adjacency: accountant.AddRemove})
	if err != nil {
		panic(err)
	}
	rate, err := profile.TruePositiveRate(0.01)
	if err != nil {
		panic(err)
	}
	fmt.Printf("with 1 %% false positives, an attack detects a used record with probability %.3f at most\n", rate.Upper)
	// Output:
	// with 1 % false positives, an attack detects a used record with probability 0.034 at most
}
