// Package sites is the method of clients that take steps of private expectation propagation
// (ep.DPSEP). Every step releases the noisy sum of the clipped sites of a batch of records: a
// site is the factor of one record, found by moment matching. The client's factor is an average
// of these sums, and the client sends it. Anyone may read the message.
package sites
