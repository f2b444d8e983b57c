// Package fit derives the mathematical model of a study: the parameters θ on an unconstrained
// scale, the prior, the likelihood of a client's records, and predictions.
//
// θ is unconstrained: a standard deviation, for example, is estimated as its logarithm.
// [Parameter.Back] converts a coordinate to the parameter.
//
// CONTRIBUTING.md describes how to add a likelihood. A family without a kernel in device.go runs on
// the processor.
package fit
