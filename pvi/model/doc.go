// Package model contains the models of studies. A model has priors and a likelihood, for columns on
// the scale to which the study maps them.
//
// A likelihood is a product over records. The factor of one record is a function of the parameters,
// public constants and that record alone. Therefore a privacy mechanism can bound the influence of
// a record.
//
// A [Model] is a verified record program (see package ir), with the names of its parameters and
// coordinates. A [Builder] builds programs. Package fit builds the programs of studies. The vector
// θ of a Gaussian approximation has the parameters in an unconstrained space. [Model.Constrain]
// converts θ to the parameters' own scale.
//
// [Linear] is the conjugate special case with known noise. It also has sufficient statistics.
package model
