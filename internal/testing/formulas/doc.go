// Package formulas contains a bank of formulas with hand-written samplers. Tests compare intervals
// with the true parameters, from which these samplers draw records.
package formulas
