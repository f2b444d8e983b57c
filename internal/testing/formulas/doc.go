// Package formulas contains a bank of regression formulas for tests. Each has a hand-written
// sampler, which draws true parameters and records. Tests compare intervals from fits to these
// records with the true parameters.
package formulas
