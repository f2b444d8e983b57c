// Package crypto is the room of keys. It has no code of its own; its test goes the way
// of a party through all of it, as the daemons do:
//
//   - identity: who a party is; its long-term key signs, under a domain.
//   - keyfile, secret: where private keys are kept, and that nothing shows them.
//   - invitation: how a party comes into a study.
//   - roster: who is in it, with which keys, with whose consent.
//   - channel: who may be at the other end of a connection.
//   - transcript: all that is said in a study, entry upon entry.
//   - signed: what is said, by whom, about which study, round, model and roster.
//   - seal: what only one party may read, and state at rest.
//
// Nothing here knows what the bytes mean that it signs and seals.
package crypto
