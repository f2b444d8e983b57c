// Package chain draws samples from the exact posterior of pooled records with a Markov chain,
// without privacy. The moments of the samples are used to check approximate posteriors.
package chain
