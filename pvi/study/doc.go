// Package study reads the study document, one TOML file with the question, the columns, the model,
// the privacy guarantee and the rules of the federation. The coordinator, the clients and the
// simulator read the same file. The SHA-256 of its bytes is the study's identity.
//
// Reading is strict. An unknown key, a value of the wrong type or a missing unit is an error.
// [Parse] reports all errors at once, each with the file, the line and a remedy. The comments on
// the fields of [Study] give the defaults.
//
// A study states privacy targets. Package pvi derives the noise from them.
package study
