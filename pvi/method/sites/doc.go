// Package sites is the method in which clients take steps of private expectation propagation
// ([fedpvi/pvi/ep.DPSEP]). A site is the factor of one record, and each step releases a noisy sum
// of the clipped sites in a batch. The client computes its factor as an average of these sums and
// sends it; anyone may read it.
package sites
