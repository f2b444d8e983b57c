package words

import (
	"fmt"
	"strings"

	"fedpvi/accountant"
	"fedpvi/pvi/method"
)

// Guess describes the bound of (ε, δ) differential privacy on the probability of a correct guess
// about which of two neighbouring data sets was used. protects names the privacy unit, such as "one
// row".
func Guess(protects string, adjacency accountant.Adjacency, epsilon, delta float64) string {
	guess := "whether " + protects + " is there or not"
	switch adjacency {
	case accountant.ReplaceOne:
		guess = "which of two contents " + protects + " has"
	case accountant.ZeroOut:
		guess = "whether the contribution of " + protects + " counts or is zero"
	}
	return fmt.Sprintf("a guess %s (%s) is right with probability at most %.3f", guess, adjacency, (1+accountant.AdvantageBound(epsilon, delta))/2)
}

// Coin ends every text with a probability from [Guess], for comparison with a blind guess.
const Coin = "Tossing a coin is right with probability 0.5."

// Meaning explains ε and δ for the strongest observer of a study as probabilities of a correct
// guess. costs comes from [pvi.Protocol.Costs].
func Meaning(protects string, costs []method.Cost) string {
	strongest := method.Strongest(costs).View
	var guesses []string
	for _, c := range costs {
		if c.View.Name == strongest.Name {
			guesses = append(guesses, Guess(protects, c.Adjacency, c.Epsilon, c.Delta))
		}
	}
	return fmt.Sprintf("In words, against %s: %s. %s", strongest.Who, strings.Join(guesses, ", and "), Coin)
}
