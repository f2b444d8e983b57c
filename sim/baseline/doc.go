// Package baseline fits the pooled records of a study by other methods, for comparison: stochastic
// gradient Langevin dynamics under differential privacy, one sample from the posterior, and
// expectation propagation without privacy. An exact sample from the posterior would be private. But
// the sample here comes from a Markov chain and is only approximate, so no privacy is proven.
package baseline
