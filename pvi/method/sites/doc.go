// Package sites is the method of clients that take steps of private expectation
// propagation (ep.DPSEP). Every step releases the noisy sum of the clipped sites of a
// batch of records: a site is the factor that matches one record against the others. The
// client sends its factor, an average of these sums. Anyone may read the message.
package sites
