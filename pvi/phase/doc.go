// Package phase holds the parts that all phases of a study have in common: names,
// identities, verdicts and refusals; the roster; checks of sums; and how the state of
// a machine is read.
package phase
