// Package steps has the parts that methods share whose clients take private steps over
// batches of their records: descent, sites and gradientsum. [Base] has the mechanism and
// the cost, and [Gradients] derives the steps of a gradient descent.
package steps
