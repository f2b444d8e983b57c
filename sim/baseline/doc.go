// Package baseline fits a study's pooled records by other methods, for comparison: stochastic
// gradient Langevin dynamics under differential privacy, one sample from the posterior, and
// expectation propagation without privacy. One sample is private only if it is exact. Here, as
// usual, a Markov chain draws it, so nothing is proven.
package baseline
