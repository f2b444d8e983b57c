// Package sites is the method of clients that take steps of private expectation propagation
// (ep.DPSEP). Every step releases the noisy sum of the clipped sites of a batch of records. A
// site is the factor of one record, computed by matching moments. The client sends its factor,
// which is an average of the released sums. Anyone may read the message.
package sites
