// Package extend contains an example of each kind of extension: a model, a partition, a clip, a
// solver, an accountant event, and a solver in Python. Each is a file of at most 60 lines. The
// tests run them all.
//
// An extension runs in simulations, in a separate program that imports packages of this module.
// Coordinators and clients know no extensions: they ignore the section [simulation] of a study and
// refuse unknown names elsewhere. With privacy.unit = "client" a solver and a clip need no privacy
// proof, because the mechanism of the study clips and hides their results.
package extend
