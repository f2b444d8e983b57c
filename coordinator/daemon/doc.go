// Package daemon runs a coordinator as a server: the clients of all studies on one port, the
// operator's orders on a socket and, if configured, metrics and a health check on another port.
package daemon
