package page

import (
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// New returns the report on the result p of a study with the given clients.
func New(st *study.Study, clients []pvi.ClientID, p *session.Posterior) (*Report, error) {
	protocol, err := session.Public(st, clients)
	if err != nil {
		return nil, err
	}
	costs, err := session.Costs(st, clients)
	if err != nil {
		return nil, err
	}
	r := &Report{Protocol: protocol, Costs: costs, Estimates: p.Estimates, Quantities: p.Quantities, Prior: p.Prior, Notes: p.Notes(), Tables: p.Result.Tables, HeldOut: p.Result.HeldOut}
	if r.Conditional, err = p.Conditional(); err != nil {
		return nil, err
	}
	for _, id := range clients {
		r.Clients = append(r.Clients, string(id))
	}
	for _, m := range p.Marginals {
		of := m.Interval
		if m.NoiseAware != nil {
			of = *m.NoiseAware
		}
		r.Effects = append(r.Effects, Effect{Name: m.Name, Natural: m.Natural, Low: of.Lower, High: of.Upper, Log: m.Log})
	}
	return r, nil
}
