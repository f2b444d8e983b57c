// Package steps has the code that the packages descent, sites and gradientsum share. In these
// methods, clients take private steps over batches of their records. [Base] holds the mechanism and
// computes the cost. [Gradients] computes the settings for gradient descent.
package steps
