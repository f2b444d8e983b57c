package words

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// AtTwoClients says how much less a study protects a person with rows at two clients, if its target
// is for people with rows at one client only. In all other studies it returns "".
func AtTwoClients(p *pvi.Protocol) (string, error) {
	if p.Study().Privacy.Unit != study.Person {
		return "", nil
	}
	costs, err := p.Costs(p.Releases())
	if err != nil {
		return "", err
	}
	against := method.Strongest(costs)
	cost, known, ok, err := p.CostAtTwo(against.View, against.Adjacency)
	switch {
	case err != nil || !ok:
		return "", err
	case !known:
		return "The cost for a person with rows at two clients is not known, because both may draw the person into one sum. To protect such persons, write inference.sampling_rate = 1.0 and privacy.people_across = 2.", nil
	}
	return fmt.Sprintf("A person with rows at two clients is protected less: ε = %s against %s. With privacy.people_across = 2 the study meets its target for such persons.", Number(cost.Epsilon), cost.View.Who), nil
}

// one describes the vectors that are clipped, in words that fit into a sentence.
func one(p *study.Privacy) string {
	if p.Unit == study.Person {
		return "those of a person added up and"
	}
	return "every record's"
}
