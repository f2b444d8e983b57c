// Package ir is the language of models: a record program is a few dozen operations, as
// plain data, that compute the log density of one record.
//
// A [Program] declares columns, which it reads of a row, parameters, and nodes in an order
// in which each uses only earlier ones. The verifier derives what a node may depend on; see
// [Phase]. No operation reads another row, loops, does input or output, or draws random
// numbers. So whatever the program is, changing one row changes the contribution of that
// row alone, and clipping a row's gradient bounds its influence.
//
// [Verify] is the gate: only verified programs run. Programs are untrusted. This package,
// the evaluator and the clip are trusted.
package ir
