// Package dpmech is the only place where noise is made and where the influence
// of one vector on a release is bounded.
//
// A [GaussianSum] clips every vector to an L2 bound, truncates it toward zero
// onto a grid whose step is a power of two, adds the vectors up as integers,
// and adds exact discrete Gaussian noise on the same grid. Integers neither
// round nor care about order, so the bound holds for what is computed and not
// only for what is written on paper, and the noise has no floating-point
// pattern that an attacker could read (Mironov 2012; Jin et al. 2022; Haney et
// al. 2022). Floats come after the noise.
//
// The mechanism that makes the noise also states its cost as an
// [fedpvi/accountant.Event], so the two cannot disagree.
//
// A [SampledSum] does so for random batches of records, step after step. Its
// [Sampling] draws them and states their cost: [Poisson], [WithoutReplacement],
// [RandomAllocation], [Permutation] or [FullBatch].
//
// Randomness is an AES-256-CTR stream keyed by the operating system
// ([NewStream]), with [Streams] of their own for sampling and for noise. Seeded
// streams exist in the package seeded, which only simulations and tests may
// import.
package dpmech
