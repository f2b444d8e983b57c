// Package clientscores is the method of studies that protect a whole client with the solver
// "scoring". In the first round a client releases a vote for each coordinate, according to the
// information that its records have about it. In every later round it releases one vector: the
// gradient and the curvature of its records at a public point, the outer product of the gradient,
// and two scalars. The posterior is computed from the opened sums of all rounds. Package
// [fedpvi/pvi/population] defines the vector, proves its sensitivity and computes the posterior.
//
// Clients have no factors. A vector depends only on the client's records and on earlier opened
// sums.
//
// # The budget
//
// The vector of round t is multiplied by w_t ≤ 1, so that its norm is at most w_t. Every sum has
// the same noise, and round t costs in proportion to w_t². The votes cost .08 of the budget. After
// them the cost grows by a factor of 1.3 from round to round, because later rounds are closer to
// the mode.
package clientscores
