// Package model is the mathematics that a study can be about: priors and
// likelihoods, on the scale to which the study maps its columns.
//
// A likelihood is a product over records. What one record contributes is a
// function of the parameters, public constants and that record alone, which is
// what lets a mechanism bound its influence.
//
// A [Model] is a verified record program (see package ir) with names. Models come
// from the catalogue ([Logistic], [Mixture], ...) or from a [Builder], which the
// catalogue uses too. The parameters live in an unconstrained space, the vector θ
// of a Gaussian approximation; [Model.Constrain] takes it to their own scale.
//
// [Linear] is the conjugate special case with known noise: it also has sufficient
// statistics.
package model
