// Package scale is the first phase of a study with a private standardisation. It finds bounds for
// the columns in several passes. In each pass clients release noisy counts or moments of their
// columns, and the coordinator and every client compute the same bounds from the sums. [Scaling]
// describes the releases and their cost. [Server] and [Site] are the state machines of the
// coordinator and a client.
package scale
