// Package lastround is the last phase of a study with a one-step posterior. This phase has one
// round, in which clients release a gradient and a curvature at the mean of the final q. [Round]
// describes the releases and their cost. [Server] and [Site] are the state machines of the
// coordinator and a client. Package [fedpvi/pvi/onestep] computes the posterior.
package lastround
