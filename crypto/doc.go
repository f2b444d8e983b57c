// Package crypto is the parent of the packages that handle keys. It has no code of its own, only a
// test that uses them all together, as the daemons do:
//
//   - identity: the long-term keys with which parties sign.
//   - keyfile, secret: private keys on disk and in memory.
//   - invitation: invitations, with which parties join a study.
//   - roster: the parties of a study, their keys and their consent.
//   - channel: mutual TLS between the parties.
//   - transcript: the chain of signed entries that records a study.
//   - sums: sums of the clients' vectors, which reveal no single vector.
//   - signed: signed messages. Each contains its study, round, model and roster.
//   - seal: encryption of messages for one recipient, and of state that is stored on disk.
//
// These packages do not interpret the bytes that they sign and seal.
package crypto
