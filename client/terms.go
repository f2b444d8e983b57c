package client

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// Terms tell how a study is charged: to which data set, against which observer, and with which
// adjacency.
type Terms struct {
	Dataset   string               `json:"dataset"`
	View      string               `json:"view"`
	Adjacency accountant.Adjacency `json:"adjacency"`
}

// terms returns the terms on which the policy allows a study with the given clients. strangers is
// the number of those that it does not recognise.
func (c *Client) terms(m *Member, p *Policy, dataset string, clients []pvi.ClientID, strangers int) (Terms, Dataset, error) {
	var t Terms
	var d Dataset
	st := m.Study
	switch {
	case !p.Allows(m.Coordinator):
		return t, d, &Refusal{fmt.Sprintf("the policy does not allow the coordinator %s: ask its people for the fingerprint over another channel, compare it, and add it to coordinators.allowed in %s", m.Coordinator, PolicyFile)}
	case len(clients) < p.MinParticipants:
		return t, d, &Refusal{fmt.Sprintf("the study has %d clients, but the policy requires at least %d (participants.minimum)", len(clients), p.MinParticipants)}
	case p.RefusePrograms && st.Model.Program != nil && st.Model.Formula == nil:
		return t, d, &Refusal{fmt.Sprintf("the model of the study is a program, but the policy refuses programs (programs = \"refuse\" in %s)", PolicyFile)}
	}
	name, d, err := p.dataset(dataset)
	if err != nil {
		return t, d, err
	}
	members, err := phase.NewRoster(st, clients)
	if err != nil {
		return t, d, err
	}
	t = Terms{Dataset: name, View: observer(st, p, members, strangers), Adjacency: st.Privacy.Adjacency}
	if st.Privacy.Unit == study.None {
		t.Adjacency = accountant.AddRemove
		if !d.Public {
			return t, d, &Refusal{fmt.Sprintf("the study makes no privacy promise (privacy.unit = \"none\"): its messages would reveal single records. If the records of the data set %s are public, write public = true for it in %s", name, PolicyFile)}
		}
	} else if d.Unit != "" && d.Unit != string(st.Privacy.Unit) {
		return t, d, &Refusal{fmt.Sprintf("the study protects a %s, but the policy requires the unit %q for the data set %s", st.Privacy.Unit, d.Unit, name)}
	} else if d.Person != "" && d.Person != st.Table.Person {
		return t, d, &Refusal{fmt.Sprintf("the study identifies persons by the column %q, but the policy identifies them by the column %q of the data set %s", st.Table.Person, d.Person, name)}
	}
	if a, ok := c.store.Account(name); ok {
		t.Adjacency = a.Budget.Adjacency
		if st.Privacy.Unit == study.None {
			return t, d, nil
		}
		if a.Budget.Unit != string(st.Privacy.Unit) {
			return t, d, &Refusal{fmt.Sprintf("the study protects a %s, but the budget of the data set %s is for a %s: their costs cannot be added up", st.Privacy.Unit, name, a.Budget.Unit)}
		}
		if a.Budget.Person != st.Table.Person {
			return t, d, &Refusal{fmt.Sprintf("the study identifies persons by the column %q, but the budget of the data set %s is for persons in the column %q: their costs cannot be added up", st.Table.Person, name, a.Budget.Person)}
		}
	}
	return t, d, nil
}

// unitOf returns the privacy unit in which a study is charged. A study without privacy is free in
// any unit.
func unitOf(st *study.Study) study.Unit {
	if st.Privacy.Unit == study.None {
		return study.Record
	}
	return st.Privacy.Unit
}

// strangers returns how many clients in the roster the policy does not recognise. While the roster
// is unknown, it returns the smallest possible number if there are assumed clients. If the roster
// then has more strangers, the data holder may have to approve the study again.
func (c *Client) strangers(m *Member, p *Policy, assumed int) (int, error) {
	members, err := c.roster(m)
	if err != nil || members == nil {
		return p.fewestStrangers(assumed), err
	}
	return len(p.strangers(members, m.Name)), nil
}

// observer returns the observer against whom a study is charged. This is the strongest one that the
// policy does not trust. If the policy does not trust the coordinator, it is a coordinator that
// opens all messages, with one exception: secure aggregation assumes at most t colluding clients,
// and if at most t clients are strangers, the coordinator cannot open a message. Strangers count as
// colluding because the coordinator may have joined under their names.
func observer(st *study.Study, p *Policy, members phase.Roster, strangers int) string {
	hidden := st.Federation.Aggregation == study.Secure && strangers <= members.Colluders
	switch {
	case st.Federation.Opens == study.OpenMessages:
		return method.Anyone
	case !p.TrustCoordinator && !hidden:
		return method.Coordinator
	case members.Colluders > 0:
		return method.Coalition
	case len(members.Clients) > 1:
		return method.Participant
	}
	return method.Outsider
}

// charge selects the cost of an answer under these terms. s lists the costs under the actual
// roster, which may differ from the roster at approval. If s is empty, the answer is free. The
// observers [method.Anyone] and [method.Coordinator] are the same under every roster. Otherwise
// charge takes the strongest observer in s that the study does not trust. If s has no cost for
// these terms, it returns an error.
func (t Terms) charge(s session.Spent) (session.Charge, error) {
	if len(s) == 0 {
		return session.Charge{View: method.View{Name: t.View}, Adjacency: t.Adjacency, Event: accountant.Composed{}}, nil
	}
	if c, ok := s.Strongest(t.View, t.Adjacency); ok {
		return c, nil
	}
	return session.Charge{}, &Refusal{fmt.Sprintf("the study states no cost against %q under %q, which the budget of the data set %s needs", t.View, t.Adjacency, t.Dataset)}
}

// whole returns the event for a whole study under these terms.
func (t Terms) whole(st *study.Study, clients []pvi.ClientID) (accountant.Event, error) {
	spent, err := session.Whole(st, clients)
	if err != nil {
		return nil, err
	}
	c, err := t.charge(spent)
	return c.Event, err
}

// budget returns the data set's budget. If there is none, made is false, and budget returns the one
// that the first charge would create. whole is the event for the whole study.
func (c *Client) budget(t Terms, d Dataset, st *study.Study, whole accountant.Event) (b ledger.Budget, made bool, err error) {
	if a, ok := c.store.Account(t.Dataset); ok {
		return a.Budget, true, nil
	}
	b, err = ledger.NewBudget(string(unitOf(st)), st.Table.Person, t.Adjacency, d.Promise, whole)
	if err != nil {
		return b, false, err
	}
	switch {
	case d.Filter == ledger.Gaussian && b.Filter != ledger.Gaussian:
		return b, false, &Refusal{fmt.Sprintf("the policy requires a Gaussian filter for the data set %s, but the study has releases that are not Gaussian: write filter = %q", t.Dataset, ledger.Renyi)}
	case d.Filter == ledger.Renyi:
		b = b.AtOrder(d.Order)
	}
	return b, false, nil
}

// quote returns the cost of an event. If the event does not fit into the data set's budget or the
// present policy's limit, it returns an error.
func (c *Client) quote(t Terms, d Dataset, st *study.Study, e accountant.Event) (ledger.Quote, error) {
	b, made, err := c.budget(t, d, st, e)
	if err != nil {
		return ledger.Quote{}, err
	}
	if !made {
		return b.Quote(e)
	}
	return c.store.Quote(t.Dataset, d.Promise, e)
}
