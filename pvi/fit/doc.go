// Package fit derives the mathematical model of a study: the parameters θ on an unconstrained
// scale, the prior, the likelihood of a client's records, and predictions.
//
// θ is unconstrained: a standard deviation or a dispersion is estimated as its logarithm.
// [Parameter.Back] converts a coordinate to the parameter.
//
// # Adding a likelihood
//
// A regression family needs changes in four files:
//
//   - pvi/study/model.go: a constant, and a row in families. A family that does not permit every
//     value of its kind of outcome also needs a check of the outcome's bounds in package study.
//   - pvi/solver/response.go: a type that implements Described, and a line in regressions. The
//     type computes the log likelihood of a record with its derivatives and its Fisher
//     information, the same likelihood as a record program, typical sizes for defaults, and a
//     function that draws an outcome. madeup.go has helpers, such as poissonAt. A type that
//     implements Response alone passes the tests of this package, and the default solver of
//     protected records refuses every study with it. The operations of programs are the constants
//     beside ir.Invalid, and the densities are the constants beside ir.NoDensity. Other
//     densities can be composed from these.
//   - pvi/fit/fit_test.go: a row in models. The tests of this package then check that the
//     response and the program agree in value, gradient, Hessian, expectation and prediction.
//   - docs/use/study.md: the table of families.
//
// Rows in the tables of pvi/solver/response_test.go and information_test.go also check the
// outcomes and the information of the response.
//
// All solvers, the accounting, the schedules and the simulator then work with the family. A
// family without a kernel in device.go runs on the processor.
//
// A likelihood that is not a regression needs only a record program, like the mixture in
// program.go.
package fit
