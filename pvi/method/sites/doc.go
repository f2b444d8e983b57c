// Package sites implements the method in which clients take steps of private expectation
// propagation (ep.DPSEP). A site is the factor of one record, computed by matching moments. In each
// step, the client clips the sites of a batch of records, adds them up, and adds noise to the sum.
// This noisy sum is a release. After its steps, the client computes its factor as an average of the
// noisy sums, and sends the factor to the server. Anyone may read the factor.
package sites
