// Package lambda does arithmetic on λ and on the clients' factors, whose sum is λ. λ is the
// difference between the natural parameters of the posterior and of the prior.
//
// An element of λ is an integer of 128 bits ([Wide]) times a power of two. So every machine
// computes the same λ for any order of messages.
//
// [Coordinates] are the coordinates in which changes of λ are clipped and sent.
package lambda
