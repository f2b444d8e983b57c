// Package scale is the first phase of a study that asks for a private standardisation:
// passes in which clients release noisy counts and moments of their columns, from which
// every machine computes the same bounds. [Scaling] says what is released and what it
// costs; [Server] and [Site] are the state machines of the coordinator and a client.
package scale
