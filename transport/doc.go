// Package transport transfers the messages of a study without interpreting them: entries of the
// transcript from the coordinator to all clients, and releases from each client to the coordinator.
// Clients connect to one port of the coordinator with gRPC, within the mutual TLS of
// [fedpvi/crypto/channel].
//
// The coordinator implements [Coordinator], the interface between the daemons. A client calls its
// methods over a connection, a simulation without a network directly.
package transport
