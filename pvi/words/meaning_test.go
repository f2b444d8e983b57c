package words_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/accountant"
	"fedpvi/pvi/method"
	"fedpvi/pvi/words"
)

// If a secret bit is released by randomised response with cost ε, the best guess is right with
// probability e^ε/(1 + e^ε). No mechanism with the same ε allows a better guess, so this is the
// probability that Meaning must give.
func TestMeaningIsTheBoundOfRandomisedResponse(t *testing.T) {
	view := method.View{Name: method.Coordinator, Who: "the coordinator"}
	for _, epsilon := range []float64{.1, 1, 4} {
		text := words.Meaning("one row", []method.Cost{
			{View: view, Adjacency: accountant.AddRemove, Epsilon: epsilon},
			{View: view, Adjacency: accountant.ReplaceOne, Epsilon: 2 * epsilon},
		})
		says(t, text, []string{
			"against the coordinator", words.Coin,
			fmt.Sprintf("whether one row is there or not (add-remove) is right with probability at most %.3f", math.Exp(epsilon)/(1+math.Exp(epsilon))),
			fmt.Sprintf("which of two contents one row has (replace-one) is right with probability at most %.3f", math.Exp(2*epsilon)/(1+math.Exp(2*epsilon))),
		}, "")
	}
}

// A Gaussian release with parameter μ shifts a normal distribution by μ standard deviations. The
// best guess is based on which side of the middle the release is.
func TestMeaningOfAGaussianRelease(t *testing.T) {
	view := method.View{Name: method.Coordinator, Who: "the coordinator"}
	for _, mu := range []float64{.2681, 1, 3} {
		right := distuv.UnitNormal.CDF(mu / 2)
		text := words.Meaning("one row", []method.Cost{{View: view, Adjacency: accountant.AddRemove, Mu: mu, Epsilon: 5, Delta: 1e-5}})
		says(t, text, []string{fmt.Sprintf("(add-remove) is right with probability at most %.3f.", right)}, "")
	}
}
