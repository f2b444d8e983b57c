package words

import (
	"fmt"
	"strings"

	"fedpvi/accountant"
	"fedpvi/pvi/method"
)

// Guess says that the probability of a correct guess is at most the given one. The guess is about
// whether a data set or its neighbour was used. protects is the privacy unit, such as "one row".
func Guess(protects string, adjacency accountant.Adjacency, most float64) string {
	guess := "whether " + protects + " is there or not"
	switch adjacency {
	case accountant.ReplaceOne:
		guess = "which of two contents " + protects + " has"
	case accountant.ZeroOut:
		guess = "whether the contribution of " + protects + " counts or is zero"
	}
	return fmt.Sprintf("a guess %s (%s) is right with probability at most %.3f", guess, adjacency, most)
}

// Coin follows each probability from [Guess], so that readers can compare it with a blind guess.
const Coin = "Tossing a coin is right with probability 0.5."

// RightGuess returns an upper bound on the probability that an observer guesses correctly which of
// two neighbouring data sets the releases come from, if both are equally likely. If the releases
// are equivalent to a Gaussian release, the bound is computed from its μ and is smaller than the
// bound from ε and δ.
func RightGuess(c method.Cost) float64 {
	if c.Mu > 0 {
		return accountant.GaussianGuess(c.Mu)
	}
	return (1 + accountant.AdvantageBound(c.Epsilon, c.Delta)) / 2
}

// Meaning explains the costs for the strongest observer of a study by probabilities of a correct
// guess. costs comes from [pvi.Protocol.Costs].
func Meaning(protects string, costs []method.Cost) string {
	strongest := method.Strongest(costs).View
	var guesses []string
	for _, c := range costs {
		if c.View.Name == strongest.Name {
			guesses = append(guesses, Guess(protects, c.Adjacency, RightGuess(c)))
		}
	}
	return fmt.Sprintf("In words, against %s: %s. %s", strongest.Who, strings.Join(guesses, ", and "), Coin)
}
