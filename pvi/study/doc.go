// Package study reads the study document: one TOML file with the question, the columns, the
// model and prior, the schedule of inference, the privacy guarantee and the rules of the
// federation. Coordinator, clients and simulator read the same file, and the SHA-256 of its
// bytes is the study's identity.
//
// Reading is strict. An unknown key, a value of the wrong type, an impossible combination of values
// or a missing unit is an error. The error has the file, the line and a remedy. [Parse] reports all
// errors at once. The comments on the fields of [Study] give the defaults of absent keys.
//
// A study states privacy targets. Package pvi derives the noise multiplier, the noise shares and
// the lattice from them.
package study
