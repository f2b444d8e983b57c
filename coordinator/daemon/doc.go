// Package daemon is a coordinator that serves: the studies of a state directory on one
// port, orders over a socket, and metrics and health on a port of their own if asked for.
package daemon
