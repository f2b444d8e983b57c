package extend_test

import (
	"fmt"
	"math"

	"fedpvi/accountant"
)

// This is the event of a mechanism that this module does not have: k-ary randomised response. It
// answers a question with k answers truthfully with probability e^ε/(e^ε + k − 1), and otherwise
// with one of the other answers. Changing the true answer from 0 to 1 changes two of the
// probabilities.
func response(k int, epsilon float64) (accountant.Event, error) {
	other := 1 / (math.Exp(epsilon) + float64(k) - 1)
	p, q := make([]float64, k), make([]float64, k)
	for i := range k {
		p[i], q[i] = other, other
	}
	p[0], q[1] = 1-float64(k-1)*other, 1-float64(k-1)*other
	return accountant.NewOutcomes(p, q, accountant.ReplaceOne)
}

// A person answers ten questions. The event gives a smaller total ε than bounds that use only the ε
// = 0.5 of each answer.
func Example_event() {
	event, err := response(8, .5)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range []accountant.Event{event, accountant.Approximate{Epsilon: .5, Adjacency: accountant.ReplaceOne}} {
		profile, err := accountant.Account(accountant.Repeated{Event: e, Times: 10})
		if err != nil {
			fmt.Println(err)
			return
		}
		epsilon, err := profile.Epsilon(1e-5)
		fmt.Printf("%.2f %v\n", epsilon.Upper, err)
	}
	// Output:
	// 3.74 <nil>
	// 5.00 <nil>
}
