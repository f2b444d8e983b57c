// Package store keeps a coordinator's state in a bbolt database, and long values in separate files.
// The state survives a crash at any instant: the disk has all changes of a transaction or none of
// them.
//
// For each study, the store contains the study document, the tickets of invitations, the entries of
// the roster and of the transcript, the state of the algorithm, and the clients' answers. The store
// does not interpret these contents. It contains no private key.
package store
