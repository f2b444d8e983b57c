// Package baseline plays a study's records, all in one place, by another method, to compare
// with: stochastic gradient Langevin dynamics under differential privacy, one sample from the
// posterior, and expectation propagation without privacy. The second is private only if
// the sample is exact; here, as everywhere, a Markov chain draws it, and nothing is
// proved.
package baseline
