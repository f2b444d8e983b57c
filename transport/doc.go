// Package transport carries what the parties of a study say to one another, and knows
// nothing of what it means: entries of the transcript from the coordinator to all, releases
// from each client to the coordinator. It is gRPC over one port of the coordinator, inside
// the mutual TLS of [fedpvi/crypto/channel]; clients dial out.
//
// [Coordinator] is the contract between both daemons. One daemon implements it, the
// other calls it through a connection, and a simulation without a network calls it
// directly.
package transport
