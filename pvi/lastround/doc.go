// Package lastround implements the last phase of a study with a one-step posterior. In this phase
// there is one round, in which every client releases a noisy gradient and a noisy curvature at the
// mean of the final q. [Round] describes the releases and their cost. [Server] and [Site] are the
// state machines of the coordinator and of a client. Package [fedpvi/pvi/onestep] computes the
// posterior.
package lastround
