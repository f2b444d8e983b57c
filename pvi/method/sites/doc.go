// Package sites is the method in which clients take steps of private expectation propagation
// ([fedpvi/pvi/ep.DPSEP]). Each step releases the noisy sum of the clipped sites of a batch, where
// a site is the factor of one record. The client sends the factor that it computes as an average of
// these sums. Anyone may read it.
package sites
