// Package scale is the first phase of a study that asks for a private standardisation: passes in which clients release
// noisy counts and moments of their columns. Every machine computes the same bounds from the sums. [Scaling] describes
// the releases and their cost. [Server] and [Site] are the state machines of the coordinator and a client.
package scale
