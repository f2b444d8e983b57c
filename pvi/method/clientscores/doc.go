// Package clientscores is the method of studies with the solver "scoring" whose privacy unit is the
// client. In the first round a client votes on the information of its records about each coordinate
// and, in a regression, on the centre of its regressor. In every later round it releases one
// vector: the gradient and the curvature of its records at a public point, the outer product of the
// gradient, and two scalars. The posterior is computed from the opened sums. Package
// [fedpvi/pvi/population] defines the vector, proves its sensitivity and computes the posterior.
//
// Clients have no factors. A vector depends only on the client's records and on earlier opened
// sums.
//
// # The budget
//
// The vector of round t is multiplied by w_t ≤ 1, which bounds its norm. The noise is the same in
// all rounds, so the cost of round t is proportional to w_t². The votes cost .12 of the budget.
// Then the cost grows by 1.3 from round to round, because later rounds are closer to the mode.
package clientscores
