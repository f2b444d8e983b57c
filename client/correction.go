package client

import (
	"math"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/pvi/method"
	"fedpvi/pvi/session"
)

// correctionAsk is the plan number in a ledger entry that corrects a study's earlier charges. The
// numbers of real plans start at 1.
const correctionAsk = 0

// correct adds the costs that earlier versions of the program did not charge. If the policy trusted
// the coordinator and the study assumed no colluders, they charged the cost against an outsider.
// But each participant knows its own noise, and so learns more. For each such study, correct adds a
// ledger entry with the missing cost. If the budget does not cover it, correct returns an error,
// and nothing more is released about the data set.
func (c *Client) correct(dataset string) error {
	last := map[ledger.Hash]ledger.Charge{} // last charge against an outsider, keyed by study
	charged := map[ledger.Hash]accountant.Composed{}
	err := c.store.Stamps(func(s ledger.Stamp) error {
		charge := s.Entry.Charge
		if charge == nil || s.Entry.Dataset != dataset || charge.View != method.Outsider {
			return nil
		}
		e, err := accountant.UnmarshalEvent(charge.Event)
		if err != nil {
			return err
		}
		last[charge.Study] = *charge
		charged[charge.Study] = append(charged[charge.Study], e)
		return nil
	})
	if err != nil {
		return err
	}
	for of, charge := range last {
		if _, done := c.store.Answered(of, correctionAsk); done {
			continue
		}
		extra, view, err := c.undercharged(dataset, of, charged[of])
		if err != nil {
			return err
		}
		if view == method.Outsider {
			continue
		}
		release := ledger.Release{
			Dataset: dataset, Protocol: charge.Protocol, Roster: charge.Roster, Policy: charge.Policy, Records: charge.Records,
			Ask: correctionAsk, View: view, Event: extra,
		}
		if err := c.store.Lose(ledger.Change{Study: of}, release, c.now()); err != nil {
			return err
		}
	}
	return nil
}

// undercharged determines how much the earlier charges of a study are too low. It returns the
// strongest observer that the study does not trust, and an event that must be charged as well. So
// far, the releases were charged against an outsider. Together with this event, they cost at least
// as much as against that observer.
//
// For Gaussian releases, the two costs are the same. The parameter μ of Gaussian differential
// privacy is larger for an observer who knows some noise shares:
//
//	μ²(observer) = n/k · μ²(outsider)
//
// Here n and k are the numbers of noise shares that the outsider and the observer do not know. For
// other releases, the event is the whole study.
func (c *Client) undercharged(dataset string, of ledger.Hash, charged accountant.Composed) (extra accountant.Event, view string, err error) {
	m, err := c.member(of)
	if err != nil {
		return nil, "", err
	}
	clients, known, err := c.clients(m)
	if err != nil {
		return nil, "", err
	}
	if !known {
		clients = pretended(m.Study, defaultParticipants)
	}
	account, _ := c.store.Account(dataset)
	adjacency := account.Budget.Adjacency
	whole, err := session.Whole(m.Study, clients)
	if err != nil {
		return nil, "", err
	}
	strongest, ok := whole.Strongest(method.Outsider, adjacency)
	if !ok {
		return nil, "", &Refusal{"the study " + m.Study.Name + " states no cost under " + string(adjacency)}
	}
	profile, err := accountant.Account(charged)
	if err != nil {
		return nil, "", err
	}
	if !profile.Gaussian() {
		return strongest.Event, strongest.View.Name, nil
	}
	unknown := 1
	for _, of := range whole {
		unknown = max(unknown, of.View.Shares) // an outsider knows no noise shares, so this is the largest number
	}
	missing := float64(unknown)/float64(strongest.View.Shares) - 1
	const roundOff = 1 + 0x1p-40
	mu := profile.Mu() * math.Sqrt(missing) * roundOff
	return accountant.Gaussian{Sensitivity: mu, Sigma: 1, Adjacency: adjacency}, strongest.View.Name, nil
}
