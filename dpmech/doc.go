// Package dpmech implements the mechanisms that release private sums. A mechanism bounds the
// influence of each vector on a sum and adds noise. No other package makes noise.
//
// A [Sum] clips every vector to an L2 bound and truncates it toward zero onto a grid whose step is
// a power of two. It adds the vectors as integers, and adds noise of a [Law] on the same grid. In a
// [GaussianSum] the noise is an exact discrete Gaussian. Integer sums are exact and do not depend
// on the order. The bound therefore holds for the numbers that the program computes, not only for
// real numbers. The noise has no floating-point pattern that an attacker could exploit (Mironov
// 2012; Jin et al. 2022; Haney et al. 2022). Floats are used only after the noise.
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
// New noise for a [Sum] is a type that implements [Law], in a new file of this directory, and a
// line in [Families]. law.go is the only file to open. The tests, the audit and the planted faults
// of laws already exist. Studies use Gaussian noise alone, because posteriors and the limits of
// messages are computed for it.
//
// A mechanism that is not a Sum, such as [ProductSum], or that clips in a norm other than L2, gets
// a file of its own with a configuration, a constructor, a release function and an Event. The
// constructor refuses settings for which no cost is proved. The release function draws the noise
// before it reads the data. Event computes the cost from the same fields as the noise. The comment
// of the type states the sensitivity and proves it. Use [Lattice] for the grid. Use the functions
// in config.go to check the settings, and the functions in release.go to check the slices that
// receive a release. A test like sum_test.go checks every refusal of the constructor, and checks
// the sensitivity in integers, on random adjacent inputs. Then add the mechanism to sim/audit, and
// add faults of the mechanism to tools/plant. Lint reports a mechanism that no program uses yet.
package dpmech
