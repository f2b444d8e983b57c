// Package fit says what a study comes to as mathematics: which parameters θ has, on
// which scale the Gaussian q lives, what their prior is, what a client's records say
// about them, and what a posterior predicts.
//
// θ is unconstrained: a standard deviation or a dispersion is estimated as its
// logarithm. A [Parameter] knows the way back.
package fit
