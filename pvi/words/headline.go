package words

import (
	"fmt"

	"fedpvi/pvi/method"
)

// Headline returns sentences that state the ε of a study, and the strongest observer without
// trust against whom it holds. If someone could open single messages, the second sentence names
// them and their ε. The argument costs is the result of [pvi.Protocol.Costs].
func Headline(costs []method.Cost) string {
	strongest := method.Strongest(costs)
	text := fmt.Sprintf("ε = %s at δ = %g under %s, against %s.", Number(strongest.Epsilon), strongest.Delta, strongest.Adjacency, strongest.View.Who)
	for _, c := range costs {
		if c.View.Name == method.Coordinator && c.Adjacency == strongest.Adjacency {
			text += fmt.Sprintf(" The study trusts %s not to do so; that would be ε = %s.", c.View.Who, Number(c.Epsilon))
		}
	}
	return text
}
