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
// All solvers, the accounting and the schedules then work with the family. The table of
// families in docs/use/study.md should have a row for it. Two more files treat a family by its
// kind of outcome unless they know it: kernels in device.go, without which a device declines
// the family, and sim/outcome.go, which draws made-up outcomes. A likelihood that is not a
// regression is a record program alone, like the mixture in program.go.
package fit
