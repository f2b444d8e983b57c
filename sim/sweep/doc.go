// Package sweep runs a study over a grid of settings and seeds, on all cores,
// and writes tidy results: one row a run, in the order of the grid, whatever the
// number of workers. A sweep that was stopped goes on where it was.
package sweep
