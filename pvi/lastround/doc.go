// Package lastround is the last phase of a study that asks for a one-step posterior: one
// round in which clients release a gradient and a curvature at the mean of the final q.
// [Round] says what is released and what it costs; [Server] and [Site] are the state
// machines of the coordinator and a client. The posterior is that of
// [fedpvi/pvi/onestep].
package lastround
