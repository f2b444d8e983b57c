// Package chain draws from the exact posterior of records in one place, without privacy, by a
// Markov chain. Approximations are compared with its moments.
package chain
