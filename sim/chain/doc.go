// Package chain draws samples from the exact posterior of pooled records with a Markov chain,
// without privacy, to check the moments of approximate posteriors.
package chain
