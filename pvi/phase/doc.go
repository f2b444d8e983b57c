// Package phase has the types and functions that all phases of a study share: names, verdicts and
// refusals, the roster, checks of sums, and the decoding of saved states.
package phase
