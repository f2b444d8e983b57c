// Package formulas has a bank of regression formulas for tests. Each formula comes with a
// hand-written sampler, which draws true parameters and records. The tests fit the formulas to
// these records and compare the intervals with the true parameters.
package formulas
