// Package sweep runs a study over a grid of settings and seeds on all cores. Its results are tidy:
// one row a run, in the order of the grid, with any number of workers. A sweep that was stopped
// resumes.
package sweep
