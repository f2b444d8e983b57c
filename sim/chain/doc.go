// Package chain draws from the exact posterior of records that lie in one place, without privacy,
// by a Markov chain: what approximations are compared with.
package chain
