// Package ep finds Gaussian factors by expectation propagation (Minka, "A family of algorithms for
// approximate Bayesian inference", 2001).
//
// The tilted distribution of a record is a cavity times the record's likelihood. The record's site
// is the Gaussian factor that approximates this likelihood: the cavity times the site has the same
// moments as the tilted distribution. A [Tilted] computes the sites of a client's records: a
// [Regression], [Mixture], [Clusters] or [Network].
//
// [EP] keeps a site for every record. [SEP] keeps one tied factor for all records of a client (Li,
// Hernández-Lobato and Turner, "Stochastic Expectation Propagation", 2015). Neither is private.
// [DPSEP] is the private form of SEP, a [solver.Solver] that updates the tied factor with noisy
// sums of clipped sites.
package ep
