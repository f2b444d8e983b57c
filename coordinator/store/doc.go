// Package store keeps what a coordinator must not forget, in one file that survives a
// crash at any instant: what is written in one transaction is all there, or none of it.
//
// It knows how things are kept and nothing of what they mean: studies with their
// documents, the tickets of invitations, what clients said of themselves, the entries of
// a transcript, the state of a study's phases, and the answers that clients send. No
// private key is in it.
package store
