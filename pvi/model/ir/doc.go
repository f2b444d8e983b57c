// Package ir is the language of models. A record program is plain data that computes the log
// density of one record with a few dozen kinds of operations.
//
// A [Program] declares its columns, parameters and nodes. A node is one operation on earlier nodes.
// The verifier derives the [Phase] of a node, which states on which inputs it depends. No operation
// reads another row, loops, does input or output, or draws random numbers (except for generated
// quantities). So a change of one row changes only its own contribution, and clipping a row's
// gradient bounds its influence.
//
// Programs are untrusted, and only those that [Verify] accepts are run. This package, the evaluator
// and the clip are trusted.
package ir
