package dpmech_test

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// The example releases a noisy sum of two vectors and prints the cost.
func ExampleGaussianSum() {
	mechanism, err := dpmech.NewGaussianSum(dpmech.Config{
		Dim:             2,
		Clip:            1,
		NoiseMultiplier: 4,
		Shares:          1, // each release has all of the noise
		Terms:           2, // number of vectors in a release
		Releases:        1, // number of releases in a sum
		Adjacency:       accountant.AddRemove,
	})
	if err != nil {
		panic(err)
	}
	// Programs that protect data use dpmech.NewStream() instead.
	source := seeded.Stream(1, "example")
	noisy, exact := make([]int64, 2), make([]int64, 2)
	err = mechanism.Release(noisy, exact, source, func(add func(v []float64) error) error {
		if err := add([]float64{0.5, 0.25}); err != nil {
			return err
		}
		return add([]float64{30, 40}) // clipped to {0.6, 0.8}
	})
	if err != nil {
		panic(err)
	}
	grid := mechanism.Lattice()
	fmt.Printf("exact %.3f %.3f\n", grid.Float(exact[0]), grid.Float(exact[1]))
	fmt.Printf("noisy %.3f %.3f\n", grid.Float(noisy[0]), grid.Float(noisy[1]))

	profile, err := accountant.Account(mechanism.Event())
	if err != nil {
		panic(err)
	}
	epsilon, err := profile.Epsilon(1e-5)
	if err != nil {
		panic(err)
	}
	fmt.Printf("ε ≤ %.3f at δ = 1e-5\n", epsilon.Upper)
	// Output:
	// exact 1.100 1.050
	// noisy 5.163 -4.577
	// ε ≤ 0.926 at δ = 1e-5
}

// The example takes one step on a random batch. It sums one vector for each record in the batch.
func ExampleSampledSum() {
	mechanism, err := dpmech.NewSampledSum(dpmech.SampledConfig{
		Sampling:        dpmech.Poisson{Rate: 0.01},
		Records:         1000,
		Steps:           100,
		Dim:             1,
		Clip:            1,
		NoiseMultiplier: 1,
		Adjacency:       accountant.AddRemove,
	})
	if err != nil {
		panic(err)
	}
	run := mechanism.Begin()
	noisy := make([]int64, 1)
	// Programs that protect data use dpmech.NewStreams() instead.
	streams := seeded.Streams(1, "example")
	err = run.Next(noisy, streams, func(batch []uint32, sum *dpmech.Accumulator) error {
		for range batch {
			if err := sum.Add([]float64{0.5}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("noisy sum %.3f, %d steps left\n", mechanism.Lattice().Float(noisy[0]), run.Remaining())

	// The event covers all 100 steps.
	profile, err := accountant.Account(mechanism.Event())
	if err != nil {
		panic(err)
	}
	epsilon, err := profile.Epsilon(1e-5)
	if err != nil {
		panic(err)
	}
	fmt.Printf("ε ≤ %.3f at δ = 1e-5\n", epsilon.Upper)
	// Output:
	// noisy sum 5.584, 99 steps left
	// ε ≤ 0.718 at δ = 1e-5
}

// In this example, two clients add noise shares. Only the sum of their releases has the full noise.
// Each client draws its noise before it reads its data.
func ExampleGaussianSum_ReleaseOne() {
	mechanism, err := dpmech.NewGaussianSum(dpmech.Config{
		Dim:             1,
		Clip:            1,
		NoiseMultiplier: 2,
		Shares:          2, // two shares together give the noise multiplier
		Terms:           1,
		Releases:        2,
		Adjacency:       accountant.ReplaceOne,
	})
	if err != nil {
		panic(err)
	}
	var total int64
	for client, value := range []float64{0.25, 0.5} {
		var noise dpmech.Noise
		mechanism.Draw(&noise, seeded.Stream(1, "example", uint64(client)))
		release, exact := make([]int64, 1), make([]int64, 1)
		if err := mechanism.ReleaseOne(release, exact, &noise, []float64{value}); err != nil {
			panic(err)
		}
		total += release[0]
	}
	fmt.Printf("noisy sum %.3f\n", mechanism.Lattice().Float(total))

	// The sum has two noise shares, and a single release has one.
	for _, shares := range []int{2, 1} {
		profile, err := accountant.Account(mechanism.EventFor(shares, accountant.ReplaceOne))
		if err != nil {
			panic(err)
		}
		epsilon, err := profile.Epsilon(1e-5)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d shares: ε ≤ %.3f at δ = 1e-5\n", shares, epsilon.Upper)
	}
	// Output:
	// noisy sum 5.094
	// 2 shares: ε ≤ 4.377 at δ = 1e-5
	// 1 shares: ε ≤ 6.573 at δ = 1e-5
}
