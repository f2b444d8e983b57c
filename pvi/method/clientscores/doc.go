// Package clientscores is the method of studies with the solver "scoring" whose privacy unit is the
// client. In the first round a client releases a vote for each coordinate, which depends on the
// information of its records about this coordinate. In every later round a client releases one
// vector. The vector consists of the gradient and the curvature of its records at a public point,
// the outer product of the gradient, and two scalars. The posterior is computed from the opened
// sums. Package [fedpvi/pvi/population] defines the vector, proves its sensitivity and computes the
// posterior.
//
// Clients have no factors. A vector depends only on the client's records and on earlier opened
// sums.
//
// # The budget
//
// The vector of round t is multiplied by w_t ≤ 1, so that its norm is at most w_t. The noise is the
// same in all rounds, so that the cost of round t is proportional to w_t². The votes cost .08 of
// the budget. In the following rounds the cost grows by a factor of 1.3 from round to round,
// because later rounds are closer to the mode.
package clientscores
