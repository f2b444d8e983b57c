// Package transport carries a study's messages without interpreting them: transcript entries from
// the coordinator to all clients, and releases from each client to the coordinator. Clients connect
// to a single port of the coordinator. They use gRPC over mutual TLS (see [fedpvi/crypto/channel]).
//
// The coordinator implements [Coordinator], the interface between the daemons. A client calls its
// methods over a connection. A simulation without a network calls them directly.
package transport
