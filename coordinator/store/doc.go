// Package store keeps a coordinator's state in a bbolt database, and long values in files beside
// it. The state survives a crash at any instant, because the disk has either all changes of a
// transaction or none.
//
// The store holds studies with their documents, tickets of invitations, entries of the roster
// and of the transcript, states of the phases, and answers. It does not interpret them. It holds
// no private key.
package store
