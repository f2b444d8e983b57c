// Package formula translates a regression formula into a program in the Stan language. The formula
// has the syntax of R and of its package brms.
//
// A formula such as visits ~ age + smoking + (1 | practice), with a family such as poisson, becomes
// the text of a program that [pvi/program] compiles. The text states the whole model, with the
// contrasts of categorical columns and a prior for every parameter. Default priors depend only on
// public numbers such as the bounds of a column, and never on records.
package formula
