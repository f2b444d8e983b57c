// Package transport carries the messages of a study without interpreting them: entries of the
// transcript from the coordinator to all clients, and releases from each client to the coordinator.
// It uses gRPC on one port of the coordinator, within the mutual TLS of [fedpvi/crypto/channel].
// Clients connect to the coordinator.
//
// [Coordinator] is the contract between the daemons. The coordinator implements it, the client
// calls it over a connection, and a simulation without a network calls it directly.
package transport
