package client

import (
	"errors"
	"fmt"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// A Review shows the data holder the content of a study, its cost and its messages, before it is
// approved.
type Review struct {
	// how the commands in the text begin, such as "client --state north"; "client" if empty
	Command string `json:"-"`

	Study       *words.Explained `json:"study"`
	Digest      ledger.Hash      `json:"digest"` // SHA-256 of the study document; the approval has this hash too
	Name        string           `json:"name"`
	Coordinator Organiser        `json:"coordinator"`
	Clients     []pvi.ClientID   `json:"clients,omitempty"` // clients in the roster; empty while the roster is unknown
	Roster      *Members         `json:"roster,omitempty"`  // names and fingerprints; nil while the roster is unknown
	Assumed     int              `json:"clients_assumed"`   // number of clients that the costs assume
	// minimum number of answers in a sum that the coordinator gets
	Fewest   int      `json:"fewest_answers"`
	Leaves   Leaves   `json:"leaves"`
	Takes    Duration `json:"takes"` // how long the study keeps this machine busy
	Privacy  Cost     `json:"privacy"`
	Noise    Noise    `json:"noise"`
	Terms    Terms    `json:"terms"`
	Approved bool     `json:"approved"`
	// Strangers are the clients in the roster that the policy does not recognise, in a study with
	// secure aggregation.
	Strangers []Stranger `json:"not_recognised,omitempty"`
	// Problems has the reason why the study cannot be approved. It is empty if the study can be.
	Problems []string `json:"problems,omitempty"`
}

// A Stranger is a client that the policy does not recognise.
type Stranger struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
}

// An Organiser is the identity of the coordinator.
type Organiser struct {
	Name        string   `json:"name"`
	Fingerprint string   `json:"fingerprint"`
	Addresses   []string `json:"addresses"`
}

// Leaves describes the messages that leave this client in a study.
type Leaves struct {
	Messages int `json:"messages"`        // maximum number of messages in the whole study
	Numbers  int `json:"numbers"`         // how many numbers the longest message has
	Bytes    int `json:"bytes_a_message"` // size of each encrypted message in bytes, with its envelope
	// Dealt means that the client deals each message out to the other clients (see package sums)
	// and does not send it to the coordinator. With each message, it then also sends a confirmation
	// and a share of the sum, and once in the study its keys. Bytes is an upper bound on the size
	// of each of these messages.
	Dealt bool `json:"dealt_to_clients,omitempty"`
}

// A Cost is the privacy cost of a study, both for each observer and for the data set's budget.
type Cost struct {
	Unit      study.Unit           `json:"unit"`
	Protects  string               `json:"protects"` // the privacy unit in words
	Adjacency accountant.Adjacency `json:"adjacency"`
	Delta     float64              `json:"delta"`
	Observers []method.Cost        `json:"observers,omitempty"`
	// Conditions tells when the costs hold, and which cases they do not cover.
	Conditions string `json:"conditions,omitempty"`
	// cost to a person who has rows at two clients, in words; see words.AtTwoClients
	AtTwo string `json:"at_two_clients,omitempty"`
	// Quote is the cost under the policy, with the budget before and after the study.
	Quote *ledger.Quote `json:"quote,omitempty"`
	Cap   float64       `json:"cap"` // the policy's limit on ε, at the δ in the field At
	At    float64       `json:"at_delta"`
}

// Noise describes the noise in this client's messages, and its effect on the posterior.
type Noise struct {
	// largest L2 norm by which a message changes if one privacy unit is added or removed
	Clip            float64 `json:"clip"`
	Share           float64 `json:"share_sd"` // standard deviation of the noise that this client adds to a message
	method.Forecast         // forecast of the effect of the noise on the posterior
	InWords         string  `json:"in_words"`
	// Widening is the factor by which noise widens a credible interval (see the function widening).
	// It is 0 if the number of records is not public.
	Widening float64 `json:"interval_factor,omitempty"`
	unit     string  // the privacy unit in one word
	nominal  int     // public number of records per client; 0 if unknown
}

// Review describes a study and its cost. If there is no policy, or if it forbids the study,
// Problems has the reason.
func (c *Client) Review(m *Member, p *Policy, dataset string) (*Review, error) {
	clients, known, err := c.clients(m)
	if err != nil {
		return nil, err
	}
	fewest := 0
	if p != nil {
		fewest = p.MinParticipants
	}
	if !known {
		clients = pretended(m.Study, fewest)
	}
	protocol, err := session.Public(m.Study, clients)
	if err != nil {
		return nil, err
	}
	r := &Review{
		Study: words.NewExplained(protocol), Digest: m.Hash, Name: string(m.Name), Assumed: len(clients), Fewest: protocol.MinClients(),
		Coordinator: Organiser{string(m.coordinator().Name), m.Coordinator.String(), m.Addresses},
	}
	if !known {
		r.Study.Read = words.ReadersOfAny(protocol)
	} else {
		r.Clients = clients
		if r.Roster, err = c.Roster(m, p); err != nil {
			return nil, err
		}
		if err := c.findStrangers(r, m, p); err != nil {
			return nil, err
		}
	}
	if r.Leaves, err = leaves(m.Study, clients, protocol); err != nil {
		return nil, err
	}
	r.Takes = c.estimate(m.Study, protocol, r.Leaves)
	if m.Study.Privacy.Unit == study.None {
		r.Privacy.Unit = study.None
	} else if err := r.cost(m, clients, protocol); err != nil {
		return nil, err
	}
	return r, c.judge(r, m, p, dataset, clients)
}

// clients returns the clients in the roster. As long as the client has not received the roster,
// known is false.
func (c *Client) clients(m *Member) (all []pvi.ClientID, known bool, err error) {
	members, err := c.roster(m)
	if err != nil || members == nil {
		return nil, false, err
	}
	return clientsOf(members), true, nil
}

// findStrangers sets the field Strangers of the review. The roster must be known.
func (c *Client) findStrangers(r *Review, m *Member, p *Policy) error {
	if p == nil || m.Study.Federation.Aggregation != study.Secure {
		return nil
	}
	members, err := c.roster(m)
	if err != nil {
		return err
	}
	for _, e := range p.strangers(members, m.Name) {
		r.Strangers = append(r.Strangers, Stranger{string(e.Name), e.Key.Fingerprint().String()})
	}
	return nil
}

func leaves(st *study.Study, clients []pvi.ClientID, p *pvi.Protocol) (Leaves, error) {
	size, err := session.MaxRelease(st, clients)
	if err != nil {
		return Leaves{}, err
	}
	site, err := session.NewServer(st, clients)
	if err != nil {
		return Leaves{}, err
	}
	_, asks := site.Plans()
	header := len(signed.Header{Domain: signed.Release}.Bytes())
	out := Leaves{Messages: asks, Numbers: p.MessageSize(), Bytes: seal.SealedSize(header, size) + header + signed.Overhead}
	if st.Federation.Aggregation == study.Secure {
		out.Dealt, out.Numbers = true, p.VectorSize()
		out.Bytes = int(sums.LargestBody(out.Numbers, len(clients))) + header + signed.Overhead
	}
	if st.Inference.Schedule != study.Synchronous {
		out.Messages = asks - p.Plans() + p.Plans()/len(clients)
	}
	return out, nil
}

// cost sets the fields Privacy and Noise of the review.
func (r *Review) cost(m *Member, clients []pvi.ClientID, p *pvi.Protocol) error {
	costs, err := session.Costs(m.Study, clients)
	if err != nil {
		return err
	}
	pr := m.Study.Privacy
	r.Privacy = Cost{Unit: pr.Unit, Protects: pr.Protects(), Adjacency: pr.Adjacency, Delta: pr.Delta, Observers: costs, Conditions: words.Conditions(p)}
	if r.Privacy.AtTwo, err = words.AtTwoClients(p); err != nil {
		return err
	}
	n := p.Method().Noise()
	r.Noise = Noise{Clip: ofUnit(p, n.Clip), unit: unitInWords(pr.Unit), Share: n.SD, Forecast: p.Method().Forecast(), InWords: words.Forecast(p), nominal: m.Study.Federation.NominalRecords}
	r.Noise.Widening = widening(p, r.Noise.Forecast)
	return nil
}

// ofUnit returns the largest L2 norm by which one privacy unit changes a message, if vectors are
// clipped to clip. If each row is clipped on its own, each row of a person can change a message by
// clip.
func ofUnit(p *pvi.Protocol, clip float64) float64 {
	if _, steps := method.StepsOf(p.Method()); steps || p.Study().Inference.Partitions.Count > 0 {
		return clip
	}
	return clip * float64(p.Study().Privacy.Rows())
}

func unitInWords(u study.Unit) string {
	if u == study.Record {
		return "row"
	}
	return string(u)
}

// judge sets the terms and the quote of the review. It also sets the first reason why the study
// cannot be approved.
func (c *Client) judge(r *Review, m *Member, p *Policy, dataset string, clients []pvi.ClientID) error {
	problem := func(err error) error {
		if code := CodeOf(err); code != Declined && code != OverBudget && code != Usage {
			return err
		}
		r.Problems = append(r.Problems, err.Error())
		return nil
	}
	if p == nil {
		return problem(&Refusal{"there is no policy, so nothing is allowed"})
	}
	if err := c.leftAlready(m); err != nil {
		return problem(err)
	}
	if _, err := c.seenRoster(m, p); err != nil {
		return problem(err)
	}
	strangers, err := c.strangers(m, p, len(clients))
	if err != nil {
		return err
	}
	t, d, err := c.terms(m, p, dataset, clients, strangers)
	if err != nil {
		return problem(err)
	}
	_, r.Approved = c.Terms(m, p)
	r.Terms, r.Privacy.Cap, r.Privacy.At = t, d.Promise.Epsilon, d.Promise.Delta
	whole, err := t.whole(m.Study, clients)
	if err != nil {
		return problem(err)
	}
	if err := p.allowsHours(r.Takes); err != nil && !r.Approved {
		return problem(err)
	}
	if c.begun(m, t.Dataset) {
		a, _ := c.store.Account(t.Dataset)
		c.judgeBegun(r, m, a)
		return nil
	}
	q, err := c.quote(t, d, m.Study, whole)
	var over *accountant.BudgetError
	if err == nil || errors.As(err, &over) {
		r.Privacy.Quote = &q
	}
	if err != nil {
		return problem(fmt.Errorf("the budget of the data set %s: %w", t.Dataset, err))
	}
	return nil
}

// judgeBegun sets the quote if the study has already been charged.
func (c *Client) judgeBegun(r *Review, m *Member, a ledger.Account) {
	r.Privacy.Quote = &ledger.Quote{Unit: a.Unit, Left: a.Left, Total: a.Total, EpsilonBefore: a.Epsilon, EpsilonAfter: a.Epsilon}
	for _, s := range a.Studies {
		if s.Study == m.Hash {
			r.Privacy.Quote.Cost = s.Spent
		}
	}
}

// roster returns a study's saved roster, or nil if the client has not received it.
func (c *Client) roster(m *Member) (*roster.Roster, error) {
	var first saved
	if known, err := c.has(m.Hash, rosterPart); err != nil || !known {
		return nil, err
	}
	if err := c.get(m.Hash, rosterPart, &first); err != nil {
		return nil, err
	}
	return roster.Parse(first.Body, m.Hash)
}
