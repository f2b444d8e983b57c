// Package ir is the language of models. A record program computes the log density of one record. It
// is plain data and consists of a few dozen kinds of operations.
//
// A [Program] declares the columns that it reads, its parameters, and its nodes. A node is one
// operation, and its arguments are earlier nodes. The verifier derives the [Phase] of a node. The
// phase states on which inputs the node depends. No operation reads another row, loops, does input
// or output, or draws random numbers (except for generated quantities). For any program, a change
// of one row therefore changes only the contribution of that row, and clipping a row's gradient
// bounds its influence.
//
// Only programs that [Verify] accepts are run. Programs are untrusted. This package, the evaluator
// and the clip are trusted.
package ir
