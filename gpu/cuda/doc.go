// Package cuda takes the private steps of variational inference on a graphics card.
//
// A visit of a client, which may be thousands of steps, is one launch, in which a block of
// threads takes all steps of one problem: it draws batches and noise, adds clipped
// gradients up, and moves q. Many problems, such as clients or seeds, run at once. All that
// a device knows of batches and noise is a [dpmech.Plan], which the mechanism that stated
// the cost hands out.
//
// The package needs a [Device], and no C compiler: devices are behind build tags, in
// package driver, and, for tests, in package emulator.
package cuda
