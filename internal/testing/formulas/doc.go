// Package formulas has a bank of formulas with samplers written by hand. Tests compare intervals with the
// true parameters, from which these samplers draw records.
package formulas
