package pvi

import (
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/lastround"
)

// The last round is the most expensive one. A client that missed an earlier round still pays its
// full cost.
func TestOneStepCostsWhatItCostsAfterAMissedRound(t *testing.T) {
	p := oneStepProtocol(t)
	server := NewServer(p)
	records := oneStepShard(p, 0, 150)
	site, err := p.NewSite(clientID(0), records)
	check(t, err)
	for {
		plan, ok := server.Next()
		if !ok {
			break
		}
		if plan.Number > 1 { // The client misses the first round.
			var r Release
			check(t, site.Propose(&r, &plan, seeded.Stream(1, "rounds", uint64(plan.Number))))
		}
		o, err := server.Close(plan.Number)
		check(t, err)
		check(t, site.Settle(o))
	}
	last, err := site.LastRound(records)
	check(t, err)
	if last.Releases() != 0 {
		t.Errorf("%d releases before the last round", last.Releases())
	}
	check(t, last.Propose(new(lastround.Release), foretold(last), seeded.Stream(1, "last")))
	costs, err := p.Costs(site.Releases() + last.Releases())
	check(t, err)
	for _, c := range costs {
		steps, err := steppedOf(p).Sampled().EventFor(site.Releases(), c.Adjacency)
		check(t, err)
		if least := account(t, accountant.Composed{steps, p.After()[0].EventFor(1, c.Adjacency)}); c.Epsilon < least {
			t.Errorf("%s: ε = %g is stated, %d steps and the last round cost %g", c.Adjacency, c.Epsilon, site.Releases(), least)
		}
	}
}
