// Package transcript implements the transcript of a study and the messages of its clients.
//
// The transcript is an append-only list of entries, which the coordinator signs and sends to all
// clients. The entries are numbered from 1. The first one is the roster. The plans and outcomes of
// all phases follow in order. Between rounds, an entry may change the roster: it gives parties new
// keys, or revokes clients' keys. The last entry ends the study, or says why it was aborted. The
// envelope of an entry (package signed) has the hash of the previous envelope, so the hash of the
// last one identifies the whole transcript. To compare their transcripts, two clients need only
// compare one hash.
//
// Clients sign three kinds of messages in this package. An approval is a client's consent to take
// part, before the study starts. A release is a client's answer to a plan. Its encrypted body has
// the same size in all answers of the study. A leave is a client's withdrawal from the study.
// Package sums adds messages for secure sums.
//
// The package handles the sizes and hashes of bodies, but does not interpret their content.
package transcript
