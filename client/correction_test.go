package client_test

import (
	"math"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/session"
)

// Since the policy trusted the coordinator, an earlier version of the program charged the cost
// against an outsider. For another participant, μ² is 3/2 times as large.
func TestEarlierChargesAreCorrected(t *testing.T) {
	h := newHub(t, planeStudy(clientPrivacy, "", "min_clients = 3"))
	whole, err := session.Whole(h.study, []pvi.ClientID{"east", "north", "south"})
	check(t, err)
	adjacency := h.study.Privacy.Adjacency
	var charge accountant.Event
	for _, c := range whole {
		if c.View.Name == method.Outsider && c.Adjacency == adjacency {
			charge = c.Event
		}
	}
	for _, c := range []struct {
		epsilon float64 // ε of the budget; the charge costs 1.70 against an outsider and 2.13 against a participant
		fits    bool
	}{{40, true}, {1.9, false}} {
		p := newHolder(t, h, "north", 0)
		p.edit("trust = false", "trust = true")
		check(t, p.with(func(k *client.Client, m *client.Member, policy *client.Policy) error {
			b, err := ledger.NewBudget(ledger.Client, "", adjacency, accountant.Target{Epsilon: c.epsilon, Delta: 1e-5}, charge)
			if err != nil {
				return err
			}
			if err := k.Store().AddBudget("records", b, today); err != nil {
				return err
			}
			return k.Store().Lose(ledger.Change{Study: m.Hash}, ledger.Release{Dataset: "records", Ask: 1, View: method.Outsider, Event: charge}, today)
		}))
		before := p.account()
		err := p.approve()
		if !c.fits {
			if client.CodeOf(err) != client.OverBudget || !strings.Contains(err.Error(), "correcting earlier charges") || p.account().Spent != before.Spent {
				t.Errorf("a budget that does not cover the correction: %v, spent %g", err, p.account().Spent)
			}
			continue
		}
		check(t, err)
		check(t, p.approve()) // now there is nothing left to correct
		after := p.account()
		if want := before.Spent * 3 / 2; math.Abs(after.Spent/want-1) > 1e-6 || after.Spent < want {
			t.Errorf("spent %g and then %g, want %g", before.Spent, after.Spent, want)
		}
		if s := after.Studies[0]; s.Answers != 1 || math.Abs(s.Spent/after.Spent-1) > 1e-12 {
			t.Errorf("the study has %+v", s)
		}
	}
}
