// Package formula translates a regression formula, as R and its package brms write it, to a
// program in the Stan language.
//
// A formula such as visits ~ age + smoking + (1 | practice), with a family such as poisson, becomes
// the text of a program that [pvi/program] compiles. The text has all that the model says: the
// contrasts of categorical columns, and a prior of every parameter. Default priors follow from
// public numbers alone, the bounds or the centre and spread of a column, and never from records.
package formula
