// Package chain draws samples from the exact posterior of pooled records by a Markov chain,
// without privacy. The moments of the samples serve to check approximate posteriors.
package chain
