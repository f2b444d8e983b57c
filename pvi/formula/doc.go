// Package formula translates a regression formula into a program in the Stan language. Formulas
// have the syntax of R and of its package brms.
//
// A formula such as visits ~ age + smoking + (1 | practice), together with a family such as
// poisson, becomes the text of a program that [pvi/program] compiles. This text is the complete
// model, including the contrasts of categorical columns and a prior for each parameter. Default
// priors depend only on public numbers, such as the bounds of a column, and never on records.
package formula
