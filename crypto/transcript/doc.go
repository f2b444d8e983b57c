// Package transcript implements the transcript of a study and the messages of its clients.
//
// The transcript is an append-only list of entries that the coordinator signs and sends
// to all clients, numbered from 1: first the roster, then the plans and outcomes of every
// phase in order, and last the end of the study, or the reason why it was aborted. The
// envelope of an entry (package signed) contains the hash of the previous envelope. The
// hash of the last envelope therefore identifies the whole transcript, and two clients
// can compare their transcripts by comparing one hash.
//
// A client signs three kinds of messages. An approval is its consent to take part, before
// the study starts. A release is its answer to a plan; it has a sealed body, which has
// the same size in all answers of the study. A leave ends its participation.
//
// This package handles the size and the hash of the bodies, and does not interpret their
// content.
package transcript
