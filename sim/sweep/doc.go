// Package sweep runs a study over a grid of settings and seeds, on all cores. The results have one
// row per run, in the order of the grid for any number of workers. A stopped sweep can be resumed.
package sweep
