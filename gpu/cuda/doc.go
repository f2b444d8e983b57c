// Package cuda takes the private steps of variational inference on a graphics card.
//
// A visit is a sequence of possibly thousands of steps, such as a client takes for one
// answer. One launch takes all steps of a visit. A block of threads works on one problem: it
// draws batches and noise, adds clipped gradients, and moves q. Many problems, such as
// clients or seeds, run at once. A [dpmech.Plan] determines batches and noise. It belongs to
// the same mechanism from which the privacy cost was computed.
//
// The package needs a [Device] and no C compiler. Devices are behind build tags, in package
// driver and, for tests, in package emulator.
package cuda
