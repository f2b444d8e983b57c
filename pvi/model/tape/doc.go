// Package tape runs verified programs: values forward, adjoints backward, for a
// number of rows side by side. A row's gradient is never formed; what the backward
// sweep leaves is the adjoint of every bridge from parameters into records, from
// which an engine computes norms and sums.
package tape
