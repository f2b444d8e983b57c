// Package transcript implements the transcript of a study and the messages of its clients.
//
// The transcript is an append-only list of entries, numbered from 1, that the coordinator signs and
// sends to all clients. The first entry is the roster. The plans and outcomes of every phase follow
// in order. Between rounds an entry can change the roster: it gives parties new keys, or revokes
// the keys of clients. The last entry ends the study, or states why it was aborted. The envelope of
// an entry (package signed) contains the hash of the previous envelope, so the hash of the last one
// identifies the whole transcript. Two clients can compare their transcripts by comparing one hash.
//
// Clients sign three kinds of messages of this package. An approval is the client's consent to take
// part, before the study starts. A release is the client's answer to a plan, with an encrypted body
// of the same size in all answers of the study. A leave ends the client's participation. Package
// sums has further messages for secure sums.
//
// The package processes the size and hash of bodies, and does not interpret their content.
package transcript
