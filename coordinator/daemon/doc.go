// Package daemon runs a coordinator as a server. The server serves the clients of all studies on
// one port and the operator's orders on a socket. If configured, it also serves metrics and a
// health check on another port.
package daemon
