// Package cuda takes the private steps of variational inference on a graphics card.
//
// A visit of a client may have thousands of steps and is one launch. A block of threads takes
// all steps of one problem: it draws batches and noise, adds clipped gradients, and moves q.
// Many problems, such as clients or seeds, run at once. Batches and noise come from a
// [dpmech.Plan] of the mechanism that stated the cost.
//
// The package needs a [Device] and no C compiler. Devices are behind build tags, in package
// driver and, for tests, in package emulator.
package cuda
