// Package lambda does arithmetic on λ, the natural parameters of the posterior
// minus those of the prior, and on the factors that add up to it.
//
// An element of λ is an integer of 128 bits ([Wide]) times a power of two that the
// protocol chooses. Sums of integers are exact, so that every machine computes the
// same λ in whatever order messages arrive.
//
// [Coordinates] are the coordinates in which changes of λ are clipped and sent.
package lambda
