// Package fit turns a study into a mathematical model: parameters θ on an unconstrained scale, a
// prior, a likelihood for a client's records, and predictions.
//
// Because θ is unconstrained, a standard deviation, for example, is represented by its logarithm.
// [Parameter.Back] converts a coordinate back to the parameter.
//
// CONTRIBUTING.md describes how to add a likelihood. Families without a kernel in device.go can
// only run on the CPU.
package fit
