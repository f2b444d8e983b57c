// Package fit derives the mathematical model of a study: the parameters θ on an unconstrained
// scale, the prior, the likelihood of a client's records, and predictions.
//
// θ is unconstrained: a standard deviation or a dispersion is estimated as its logarithm.
// [Parameter.Back] converts a coordinate to the parameter.
//
// # Adding a likelihood
//
// A regression family with one linear predictor needs changes in four files:
//
//   - pvi/study/model.go: a constant and a row in families, with the kind of outcome and the
//     keys of the family; and a case in Sentence, which clients read in a review.
//   - pvi/solver/response.go: a type with the log likelihood of a record, its gradient and
//     its Hessian in the predictor; and a case in Outcome.Response.
//   - pvi/fit/program.go: a case in regressionProgram, with the same likelihood as a record
//     program; and one in addScale if the family learns a scale. Package ir lists the
//     operations and densities. Other densities can be composed from these.
//   - pvi/fit/fit_test.go: a row in models. The tests of this package then check that the
//     response and the program agree in value, gradient, Hessian, expectation and prediction.
//
// All solvers, the accounting and the schedules then work with the family. A family without a
// kernel in device.go runs on the processor. Add a row to the table of families in
// docs/use/study.md.
//
// Three functions treat all families with one kind of outcome alike. For a binary outcome they
// assume a logistic regression: residual in gradient.go and Curvature in model.go, which set
// default clips, and drawOutcome in sim/outcome.go, which draws synthetic outcomes. If the
// family differs from that assumption, add a case to each function. The tests pass without the
// case, but default clips are worse and synthetic records are wrong.
//
// A likelihood that is not a regression needs only a record program, like the mixture in
// program.go.
package fit
