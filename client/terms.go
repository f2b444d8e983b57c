package client

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// Terms are how a study is charged: against whom, under which adjacency, to which data set.
type Terms struct {
	Dataset   string               `json:"dataset"`
	View      string               `json:"view"`
	Adjacency accountant.Adjacency `json:"adjacency"`
}

// terms returns on which terms the policy lets the client take part in a study, whose
// clients are those of the roster.
func (c *Client) terms(m *Member, p *Policy, dataset string, clients []pvi.ClientID) (Terms, Dataset, error) {
	var t Terms
	var d Dataset
	st := m.Study
	switch {
	case !p.Allows(m.Coordinator):
		return t, d, &Refusal{fmt.Sprintf("the policy does not allow the coordinator %s: compare the fingerprint with what its people tell you by another way, and add it to coordinators.allowed in %s", m.Coordinator, PolicyFile)}
	case len(clients) < p.MinParticipants:
		return t, d, &Refusal{fmt.Sprintf("the study has %d clients, and the policy wants %d at least (participants.minimum)", len(clients), p.MinParticipants)}
	}
	name, d, err := p.dataset(dataset)
	if err != nil {
		return t, d, err
	}
	t = Terms{Dataset: name, View: observer(st, p), Adjacency: st.Privacy.Adjacency}
	if st.Privacy.Unit == study.None {
		t.Adjacency = accountant.AddRemove
		if !d.Public {
			return t, d, &Refusal{fmt.Sprintf("the study makes no privacy promise (privacy.unit = \"none\"): what is sent would tell of single records. If anybody may know those of the data set %s, write public = true for it in %s", name, PolicyFile)}
		}
	} else if d.Unit != "" && d.Unit != string(st.Privacy.Unit) {
		return t, d, &Refusal{fmt.Sprintf("the study protects a %s, and the policy wants the unit %q for the data set %s", st.Privacy.Unit, d.Unit, name)}
	}
	if a, ok := c.store.Account(name); ok {
		t.Adjacency = a.Budget.Adjacency
		if st.Privacy.Unit == study.None {
			return t, d, nil
		}
		if a.Budget.Unit != string(st.Privacy.Unit) {
			return t, d, &Refusal{fmt.Sprintf("the study protects a %s, and the budget of the data set %s is about a %s: they cannot be added up", st.Privacy.Unit, name, a.Budget.Unit)}
		}
	}
	return t, d, nil
}

// unitOf returns the unit of the budget to which a study is charged: one that makes no
// promise costs nothing under any.
func unitOf(st *study.Study) study.Unit {
	if st.Privacy.Unit == study.None {
		return study.Record
	}
	return st.Privacy.Unit
}

// observer returns the name of the observer against whom a study is charged. Where only
// sums are opened, that is a coordinator who opens every message, unless the holder trusts
// it not to.
func observer(st *study.Study, p *Policy) string {
	switch {
	case st.Federation.Opens == study.OpenMessages:
		return "anyone"
	case !p.TrustCoordinator:
		return "coordinator"
	case st.Federation.Colluders > 0:
		return "coalition"
	}
	return "outside"
}

// event returns what something costs on these terms. Nothing at all may be spent; but a
// cost that the study does not state on these terms is not nothing.
func (t Terms) event(s session.Spent) (accountant.Event, error) {
	if len(s) == 0 {
		return accountant.Composed{}, nil
	}
	if e := s.For(t.View, t.Adjacency); e != nil {
		return e, nil
	}
	return nil, &Refusal{fmt.Sprintf("the study states no cost against %q under %q, which is what the data set %s is accounted by", t.View, t.Adjacency, t.Dataset)}
}

// budget returns the budget that a data set has, or will have.
func (c *Client) budget(t Terms, d Dataset, unit study.Unit, whole accountant.Event) (b ledger.Budget, made bool, err error) {
	if a, ok := c.store.Account(t.Dataset); ok {
		return a.Budget, true, nil
	}
	b, err = ledger.NewBudget(string(unit), t.Adjacency, d.Promise, whole)
	if err != nil {
		return b, false, err
	}
	switch {
	case d.Filter == ledger.Gaussian && b.Filter != ledger.Gaussian:
		return b, false, &Refusal{fmt.Sprintf("the policy wants a Gaussian filter for the data set %s, and the study releases what is not Gaussian: write filter = %q", t.Dataset, ledger.Renyi)}
	case d.Filter == ledger.Renyi:
		b = b.AtOrder(d.Order)
	}
	return b, false, nil
}

// quote returns what an event would cost, within the budget and the policy of the day.
func (c *Client) quote(t Terms, d Dataset, unit study.Unit, e accountant.Event) (ledger.Quote, error) {
	b, made, err := c.budget(t, d, unit, e)
	if err != nil {
		return ledger.Quote{}, err
	}
	if !made {
		return b.Quote(e)
	}
	return c.store.Quote(t.Dataset, d.Promise, e)
}
