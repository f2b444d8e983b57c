// Package fit turns a study into mathematics: the parameters θ, the scale on which the
// Gaussian q lives, the prior, the likelihood of a client's records, and predictions.
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
//     program; and one in addScale if the family learns a scale.
//   - pvi/fit/fit_test.go: a row in models. The tests of this package then check that the
//     response and the program agree in value, gradient, Hessian, expectation and prediction.
//
// All solvers, the accounting and the schedules work with the family then. TestPages and
// TestEveryKeyIsDescribed ask for a row in docs/use/study.md. Two places do more for a family
// that they know, and nothing wrong for others: kernels in device.go runs it on a device,
// and sim/outcome.go draws made-up outcomes by the kind of outcome unless it has a case for
// the family. A likelihood that is not a regression is a record program alone, like the
// mixture in program.go.
package fit
