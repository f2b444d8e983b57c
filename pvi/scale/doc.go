// Package scale is the first phase of a study with a private standardisation, which finds bounds
// for the columns. In each of its passes clients release noisy counts or moments, and the
// coordinator and every client compute the same bounds from the sums. [Scaling] describes the
// releases and their cost. [Server] and [Site] are the state machines.
package scale
