// Package transport transfers the messages of a study without interpreting them: entries of the
// transcript from the coordinator to all clients, and releases from each client to the coordinator.
// Clients connect to one port of the coordinator with gRPC, within the mutual TLS of
// [fedpvi/crypto/channel].
//
// [Coordinator] is the interface between the daemons, which the coordinator implements. A client
// calls the methods of the interface over a connection. A simulation without a network calls them
// directly.
package transport
