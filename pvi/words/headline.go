package words

import (
	"fmt"
	"math"

	"fedpvi/pvi/method"
)

// Headline returns one to three sentences. The first gives the study's ε against the strongest
// observer that it does not trust. If the study trusts the coordinator not to open single messages,
// the next gives the ε in case it does. The last warns of a very large ε. costs comes from
// [pvi.Protocol.Costs].
func Headline(costs []method.Cost) string {
	strongest := method.Strongest(costs)
	text := fmt.Sprintf("ε = %s at δ = %g under %s, against %s.", Number(strongest.Epsilon), strongest.Delta, strongest.Adjacency, strongest.View.Who)
	for _, c := range costs {
		if c.View.Name == method.Coordinator && c.Adjacency == strongest.Adjacency {
			text += fmt.Sprintf(" Against %s it would be ε = %s; the study trusts that nobody opens single messages.", c.View.Who, Number(c.Epsilon))
		}
	}
	return text + large(strongest.Epsilon)
}

// If ε is above largeEpsilon, the headline warns that the study promises next to nothing. With ε =
// 10, the odds of a guess about one privacy unit can grow by a factor of e^10, about 22,000.
const largeEpsilon = 10

// large returns a warning if ε gives almost no protection, and otherwise "".
func large(epsilon float64) string {
	if !(epsilon > largeEpsilon) {
		return ""
	}
	factor := "more than 1e+300"
	if epsilon < 690 {
		factor = fmt.Sprintf("%.2g", math.Exp(epsilon))
	}
	return fmt.Sprintf(" THIS PROMISES NEXT TO NOTHING: the odds of a guess can grow by a factor of e^ε, which is %s. An ε of 1 or less protects well, and one above %d hardly at all.", factor, largeEpsilon)
}
