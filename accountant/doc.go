// Package accountant turns what was released into what was given away.
//
// A release is described by an [Event]: which noise, how much, under which
// adjacency. Events are composed and repeated, and [Account] answers for the
// whole with a [Profile]: the smallest ε for a δ, and the smallest δ for an ε,
// as upper bounds. Gaussian releases compose exactly (Dong, Roth, Su, "Gaussian
// Differential Privacy", 2022, corollary 3.3), and their profile is the exact
// one of Balle and Wang ("Improving the Gaussian Mechanism for Differential
// Privacy", 2018, theorem 8), so for them the bound is the truth.
//
// Events of different adjacencies are never added: "one record more or less"
// and "one record replaced" are different promises.
//
// Calibration goes the other way and never misses its target: what it returns
// was checked with the profile that will be reported.
package accountant
