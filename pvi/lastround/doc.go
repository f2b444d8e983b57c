// Package lastround implements the last phase of a study with a one-step posterior: a single round
// in which every client releases a noisy gradient and a noisy curvature at the mean of the final q.
// [Round] describes the releases and their cost. [Server] and [Site] are the state machines.
// Package [fedpvi/pvi/onestep] computes the posterior.
package lastround
