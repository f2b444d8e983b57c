// Package ir defines the language that models are translated to. A program in this language is
// plain data. It computes the log density of one record, with a few dozen kinds of operations.
//
// A [Program] declares columns, parameters and nodes. A node is an operation on earlier nodes. The
// verifier works out the [Phase] of a node, which says what inputs the node depends on. No
// operation reads another row, loops, does input or output, or draws random numbers (except for
// generated quantities). A change to a row therefore affects only that row's contribution, and
// clipping the row's gradient bounds its influence.
//
// Programs are not trusted. Only those that [Verify] accepts are run. This package, the evaluator
// and the clipping code are trusted.
package ir
