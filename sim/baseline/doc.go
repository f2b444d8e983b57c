// Package baseline plays a study's records, all in one place, by a method that is no
// variational inference, to compare with: stochastic gradient Langevin dynamics under
// differential privacy, and one sample from the posterior. The second is private only if
// the sample is exact; here, as everywhere, a Markov chain draws it, and nothing is
// proved.
package baseline
