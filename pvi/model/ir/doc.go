// Package ir is the language in which a model says what one record contributes
// to the log density: a program of a few dozen operations, as plain data.
//
// A [Program] declares columns (what it reads of a row), parameters, and nodes in
// an order in which each uses only earlier ones. What a node may depend on is
// derived, never claimed; see [Phase]. There is no operation that reads another
// row, no loop, no input or output and no randomness, so whatever the program is,
// changing one row changes the contribution of that row alone, and clipping a
// row's gradient bounds its influence.
//
// [Verify] is the gate: nothing runs a program that has not passed it. Programs
// are untrusted by design; this package, the evaluator and the clip are trusted.
package ir
