// Package phase has the parts that all phases of a study share: names, identities, verdicts and
// refusals, the roster, checks of sums, and the decoding of machines' states.
package phase
