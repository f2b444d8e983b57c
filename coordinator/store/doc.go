// Package store keeps a coordinator's state in a bbolt database, and long values in separate files.
// The state survives a crash at any instant: the disk has all changes of a transaction or none of
// them.
//
// For each study, the store contains the study document, the tickets of invitations, the roster,
// the transcript, the state of the algorithm, and the clients' answers, without interpreting them.
// It contains no private key.
package store
