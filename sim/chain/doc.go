// Package chain draws from the exact posterior of pooled records by a Markov chain, without
// privacy. Its moments serve to judge approximations.
package chain
