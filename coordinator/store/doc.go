// Package store keeps a coordinator's state in a bbolt database, and long values in separate files.
// The state survives a crash at any instant: the disk has either all changes of a transaction or
// none.
//
// The store contains studies with their documents, tickets of invitations, entries of the roster
// and of the transcript, states of the algorithm, and answers. The store does not interpret these
// contents. It contains no private key.
package store
