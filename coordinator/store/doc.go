// Package store keeps a coordinator's state in a bbolt database, and long values in files beside it. The state
// survives a crash at any instant, because the disk has either all changes of a transaction or none.
//
// It stores studies with their documents, the tickets of invitations, the entries of the roster, the entries of
// the transcript, the state of the phases, and answers, and does not interpret them. It holds no
// private key.
package store
