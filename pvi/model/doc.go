// Package model contains the statistical models that studies use. A model has priors and a
// likelihood. Its columns are on the scale that the study maps them to.
//
// A likelihood is a product with one factor per record. A record affects only its own factor, so a
// privacy mechanism can bound its influence.
//
// A [Model] is a verified program that computes the log density of a record (see package ir),
// together with the names of its parameters and coordinates. Such programs are built with a
// [Builder]; package fit builds those of studies. A Gaussian approximation has a vector θ, in which
// the parameters are unconstrained. [Model.Constrain] converts θ to the parameters' own scale.
//
// [Linear] is the conjugate special case with known noise. It also has sufficient statistics.
package model
