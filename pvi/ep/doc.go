// Package ep finds Gaussian factors by expectation propagation (Minka, "A family of algorithms
// for approximate Bayesian inference", 2001).
//
// The tilted distribution of a record is a cavity times the record's likelihood. The record's
// site is the factor whose product with the cavity is the Gaussian with the moments of the
// tilted distribution. A [Tilted] returns the sites of a client's records: [Regression],
// [Mixture], [Clusters] and [Network] implement it.
//
// [EP] keeps a site for every record. [SEP] keeps one tied factor for all records of a client
// (Li, Hernández-Lobato and Turner, "Stochastic Expectation Propagation", 2015). Neither is
// private: they are references. [DPSEP] is the private form of SEP, a [solver.Solver] that moves
// the tied factor by noisy sums of clipped sites.
package ep
