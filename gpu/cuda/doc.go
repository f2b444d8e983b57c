// Package cuda computes the private steps of variational inference on a graphics card.
//
// A visit is a sequence of steps, possibly thousands, such as the steps of one client for one
// answer. One launch computes all steps of a visit. A block of threads works on one problem, such
// as a client or a seed: it draws batches and noise, adds clipped gradients, and updates q. Many
// problems run at once. A [dpmech.Plan] determines batches and noise. The mechanism of the plan
// also gives the privacy cost.
//
// The package needs a [Device] and no C compiler. Devices are behind build tags, in package driver
// and, for tests, in package emulator.
package cuda
