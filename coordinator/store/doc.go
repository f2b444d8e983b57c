// Package store keeps a coordinator's state in a bbolt database, with long values in separate
// files. The state survives a crash at any instant: after a restart, either all changes of a
// transaction are there or none of them.
//
// For each study, the store contains the study document, the tickets of invitations, the roster,
// the transcript, the state of the algorithm, and the clients' answers, without interpreting them.
// It contains no private key.
package store
