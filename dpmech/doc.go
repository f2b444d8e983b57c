// Package dpmech implements the mechanisms that release private sums. A mechanism bounds the
// influence of each vector on a sum and adds noise. No other package makes noise.
//
// A [GaussianSum] clips every vector to an L2 bound, truncates it toward zero onto a grid whose
// step is a power of two, adds the vectors as integers, and adds exact discrete Gaussian noise on
// the same grid. Integer sums are exact and do not depend on the order. The bound therefore holds
// for the numbers that the program computes, and not only for real numbers. The noise has no
// floating-point pattern that an attacker could exploit (Mironov 2012; Jin et al. 2022; Haney et
// al. 2022). Floats are used only after the noise.
//
// A [SampledSum] takes a sequence of steps. Each step releases a sum of this kind over a random
// batch of records. The [Sampling] of a SampledSum draws the batches and states the cost of the
// steps. The samplings are [Poisson], [WithoutReplacement], [RandomAllocation], [Permutation] and
// [FullBatch]. A [ProductSum] does the same for neural networks, whose gradients are outer
// products.
//
// The mechanism that makes the noise also states the cost of its releases as an
// [fedpvi/accountant.Event], so the noise and the cost cannot disagree.
//
// Randomness comes from AES-256-CTR streams with keys from the operating system ([NewStream]).
// Sampling and noise have separate [Streams]. The package seeded makes streams from a seed; only
// simulations and tests may import it.
//
// # Adding a mechanism
//
// A mechanism is one file with a configuration, a constructor, a release function and an Event. The
// constructor refuses settings for which no cost is proved. The release function draws the noise
// before it reads the data. Event computes the cost from the same fields as the noise. The comment
// of the type states the sensitivity and proves it. sum.go with release.go is the shortest example.
// The files to open are
//
//  1. a new file in this directory. Use [Lattice] for the grid, the gate (gate.go) for
//     clipping in the L2 norm, and a [DiscreteGaussian] for the noise; config.go has
//     checks of settings. In release.go, checkDestination and finish check the slices that
//     receive a release, and mostVectors is the limit of vectors. The gate, Config and
//     Accumulator are for the L2 norm and Gaussian noise. A mechanism for another norm needs a
//     clip of its own, whose bound a test checks in integers;
//  2. a test like sum_test.go: sensitivity on random adjacent inputs
//     (TestSensitivity), frequencies of the noise, the event of a known configuration, and
//     every refusal of the constructor;
//  3. accountant/event.go and accountant/encoding.go, only if no event fits the noise: see
//     the package doc of accountant. The event Laplace is for continuous noise and does not
//     cover noise on integers. For a mechanism with a proof of (ε, δ) only, use the event
//     Approximate.
//
// Also add the mechanism to sim/audit, and faults of the mechanism to tools/plant, so that the
// audit searches for faults in the mechanism. Lint reports a mechanism that no program uses yet.
package dpmech
