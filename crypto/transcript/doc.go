// Package transcript implements the transcript of a study and the messages of its clients.
//
// The transcript is an append-only list of entries, numbered from 1, that the coordinator signs and
// sends to all clients. The first entry is the roster. The plans and outcomes of every phase follow
// in order. Between rounds an entry can change the roster: it gives parties new keys, or revokes
// the keys of clients. The last entry ends the study, or states why the study was aborted. The
// envelope of an entry (package signed) contains the hash of the previous envelope. The hash of the
// last envelope therefore identifies the whole transcript, and two clients can compare their
// transcripts by comparing one hash.
//
// The package has three kinds of messages that clients sign. An approval is the client's consent to
// take part, before the study starts. A release is the client's answer to a plan. The body of a
// release is encrypted, and has the same size in all answers of the study. A leave ends the
// client's participation. Package sums has further messages of clients for secure sums.
//
// This package processes the size and the hash of the bodies, and does not interpret their content.
package transcript
