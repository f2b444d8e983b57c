// Package study is the study document: one TOML file that says what is studied,
// from which columns, with which model and prior, by which schedule of
// inference, under which privacy promise and with which rules of federation.
// Coordinator, clients and simulator read the same file, and the SHA-256 of its
// bytes is the study's identity.
//
// Reading is strict. An unknown key, a value of the wrong type, an impossible
// combination, a missing unit are errors with file, line and what to write
// instead, and all of them are reported at once. What a study leaves out has
// the defaults that the fields of [Study] name.
//
// The document states targets. What follows from them (noise multiplier, noise
// shares, lattice) is derived by package pvi, never typed.
package study
