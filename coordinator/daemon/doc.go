// Package daemon runs a coordinator as a server. It serves the studies of a state directory on one
// port and orders over a socket. If configured, it also serves metrics and a health check on
// another port.
package daemon
