// Package clientscores is the method for studies with the solver "scoring" whose privacy unit is
// the client. In the first round, a client votes on how much information its records have about
// each coordinate and, in a regression, on the centre of the coordinate's regressor. In each later
// round it releases one vector. This contains the gradient and the curvature of its records at a
// public point, the outer product of the gradient with itself, and two scalars. The posterior is
// computed from the opened sums. Package [fedpvi/pvi/population] defines the vector, proves its
// sensitivity and computes the posterior.
//
// Clients have no factors. A vector depends only on the client's records and on sums that were
// opened before.
//
// # The budget
//
// The vector of round t is multiplied by w_t ≤ 1, which bounds its norm. The noise is the same in
// all rounds, so the cost of round t is proportional to w_t². The votes cost .12 of the budget.
// After that, each round costs 1.3 times as much as the one before, because later rounds are closer
// to the mode.
package clientscores
