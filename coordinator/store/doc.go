// Package store keeps a coordinator's state in a bbolt database, and long values in files beside it. It survives a
// crash at any instant: the disk has all of a transaction, or none of it.
//
// It stores studies with their documents, the tickets of invitations, the entries of the roster, the entries of
// the transcript, the state of the phases, and answers, and does not interpret them. It holds no
// private key.
package store
