// Package model contains the models of studies. A model has priors and a likelihood, for columns on
// the scale to which the study maps them.
//
// A likelihood is a product over records. The factor of a record depends on no other record, so a
// privacy mechanism can bound its influence.
//
// A [Model] is a verified record program (see package ir), with the names of its parameters and
// coordinates. A [Builder] builds programs, and package fit those of studies. The vector θ of a
// Gaussian approximation has the parameters in an unconstrained space. [Model.Constrain] converts θ
// to the parameters' own scale.
//
// [Linear] is the conjugate special case with known noise. It also has sufficient statistics.
package model
