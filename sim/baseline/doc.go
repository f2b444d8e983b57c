// Package baseline fits the pooled records of a study by other methods, for comparison. The
// methods are stochastic gradient Langevin dynamics under differential privacy, one sample from
// the posterior, and expectation propagation without privacy. The sample would be private if it
// was exact. Here, as usual, a Markov chain draws it, so no privacy is proven.
package baseline
