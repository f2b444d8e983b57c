package sim

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/lastround"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// Secure reports how much data and computing time the secure sums of a simulation took. Except for
// Plans, all numbers are averages over plans. Those for a client are averages over clients too.
type Secure struct {
	Plans int     `json:"plans"`
	Up    float64 `json:"bytes_up"` // bytes of the envelopes and bodies that a client sends
	// bytes of the columns and entries that a client receives between a plan and its outcome
	Down   float64 `json:"bytes_down"`
	Client float64 `json:"client_ms"` // computing time of a client in milliseconds
	Hub    float64 `json:"coordinator_ms"`
}

// An Adder adds up the clients' vectors as the daemons do with federation.aggregation = "secure",
// but without a network. Every client answers every plan.
type Adder struct {
	federation  *sums.Federation
	hub         *identity.Identity
	chain       transcript.Chain
	coordinator *sums.Coordinator
	clients     []*secureClient // client m (counted from 1) has the index m − 1
	asked       uint64

	clock    func() float64 // seconds since a fixed time
	plans    int
	up, down int
	// computing time in seconds of all clients together (work) and of the coordinator (hubs)
	work, hubs float64
}

type secureClient struct {
	*sums.Client
	signer *identity.Identity
	opener *seal.Key
	deal   []byte // body of the client's last deal
}

// NewAdder returns an adder whose clients have exchanged their keys. A sum is opened only if at
// least fewest clients answer. No vector may have more than length elements. clock returns the
// seconds since a fixed moment.
func NewAdder(clients, fewest, length int, clock func() float64) (*Adder, error) {
	s := &Adder{clock: clock}
	of := sha256.Sum256([]byte("a simulated study"))
	var entries []roster.Entry
	enter := func(name identity.Name, role identity.Role) (*identity.Identity, *seal.Key, error) {
		i, err := identity.Generate()
		if err != nil {
			return nil, nil, err
		}
		k, err := seal.Generate()
		if err != nil {
			return nil, nil, err
		}
		e, err := roster.NewEntry(i, of, name, role, identity.Pin(i.Fingerprint()), k.Recipient())
		entries = append(entries, e)
		return i, k, err
	}
	var err error
	if s.hub, _, err = enter("coordinator", identity.Coordinator); err != nil {
		return nil, err
	}
	names := make([]identity.Name, clients)
	for m := range names {
		// A roster may not accept the names of a simulation, so the clients get new ones.
		names[m] = identity.Name(fmt.Sprintf("client-%04d", m+1))
		c := &secureClient{}
		if c.signer, c.opener, err = enter(names[m], identity.Client); err != nil {
			return nil, err
		}
		s.clients = append(s.clients, c)
	}
	members, err := roster.New(of, entries)
	if err != nil {
		return nil, err
	}
	begun := transcript.Begin(of, s.hub.Public())
	envelope, body, err := begun.Open(s.hub, members, of, of, false, false)
	if err != nil {
		return nil, err
	}
	if s.chain, _, err = begun.Follow(envelope, body); err != nil {
		return nil, err
	}
	if s.federation, err = sums.New(s.chain, fewest, length); err != nil {
		return nil, err
	}
	s.coordinator = sums.NewCoordinator(s.federation)
	return s, s.exchange(names)
}

func (s *Adder) exchange(names []identity.Name) (err error) {
	keys := make([][]byte, len(s.clients))
	for m, c := range s.clients {
		if c.Client, err = sums.NewClient(s.federation, names[m]); err != nil {
			return err
		}
		var envelope []byte
		if envelope, keys[m], err = c.Keys(c.signer); err != nil {
			return err
		}
		if _, _, err = s.coordinator.AddKeys(envelope); err != nil {
			return err
		}
	}
	for m, c := range s.clients {
		for i := range s.clients {
			if i == m {
				continue
			}
			at, size := s.federation.Keys(i+1, m+1)
			if err := c.Learn(c.opener, i+1, keys[i][at:at+size]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Add returns the opened sum of the clients' vectors, which always has the maximum length (see
// [NewAdder]). It fails if a client opens a different sum than the coordinator.
func (s *Adder) Add(vectors [][]int64) ([]int64, error) {
	s.asked++
	s.plans++
	if err := s.publish("plan", nil, true, nil); err != nil {
		return nil, err
	}
	err := s.each(func(m int, c *secureClient) error { return s.dealOf(c, vectors[m]) })
	if err == nil {
		body, ok := s.coordinator.NextCut()
		err = s.publish(transcript.Cut, body, ok, nil)
	}
	if err == nil {
		err = s.each(s.confirm)
	}
	if err == nil {
		body, ok := s.coordinator.NextCertificate()
		err = s.publish(transcript.Certificate, body, ok, nil)
	}
	if err == nil {
		err = s.each(s.share)
	}
	if err == nil {
		body, ok, wrong := s.coordinator.NextOpening()
		err = s.publish(transcript.Opening, body, ok, wrong)
	}
	if err != nil {
		return nil, err
	}
	_, sum, _ := s.coordinator.Sum()
	for _, c := range s.clients {
		if _, own, ok := c.Sum(); !ok || !slices.Equal(own, sum) {
			return nil, errors.New("the clients have opened a different sum than the coordinator: this is a fault in the program")
		}
	}
	return sum, s.publish("outcome", nil, true, nil)
}

// each calls f for every client, and adds the time to s.work.
func (s *Adder) each(f func(m int, c *secureClient) error) error {
	began := s.clock()
	defer func() { s.work += s.clock() - began }()
	for m, c := range s.clients {
		if err := f(m, c); err != nil {
			return err
		}
	}
	return nil
}

// publish makes the coordinator sign the next entry of the transcript, and passes the entry to all
// parties. ok and err are the results of making the body.
func (s *Adder) publish(kind transcript.Kind, body []byte, ok bool, err error) error {
	if err != nil || !ok {
		return errors.Join(err, fmt.Errorf("no %s can be made: this is a fault in the program", kind))
	}
	began := s.clock()
	envelope, err := s.chain.Sign(s.hub, kind, s.asked, transcript.Hash{}, body)
	if err != nil {
		return err
	}
	chain, e, err := s.chain.Follow(envelope, body)
	if err != nil {
		return err
	}
	s.chain = chain
	if err := s.coordinator.Follow(e, body); err != nil {
		return err
	}
	s.hubs += s.clock() - began
	if kind.Step() {
		s.down += len(s.clients) * (len(envelope) + len(body))
	}
	return s.each(func(_ int, c *secureClient) error { return c.Follow(e, body) })
}

func (s *Adder) dealOf(c *secureClient, vector []int64) error {
	d, err := c.Deal(vector)
	if err != nil {
		return err
	}
	var envelope []byte
	if envelope, c.deal, err = d.Sign(c.signer, s.asked, transcript.Hash{}); err != nil {
		return err
	}
	s.up += len(envelope) + len(c.deal)
	r, err := s.coordinator.CheckDeal(envelope)
	if err != nil {
		return err
	}
	return s.coordinator.AddDeal(r)
}

func (s *Adder) confirm(m int, c *secureClient) error {
	var pieces []byte
	for _, d := range c.Cut() {
		at, size := s.federation.Column(d.Place, m+1)
		pieces = append(pieces, s.clients[d.Place-1].deal[at:at+size]...)
	}
	s.down += len(pieces)
	if err := c.Gather(pieces); err != nil {
		return err
	}
	envelope, err := c.Confirm(c.signer)
	if err != nil {
		return err
	}
	s.up += len(envelope)
	_, err = s.coordinator.AddConfirmation(envelope)
	return err
}

func (s *Adder) share(_ int, c *secureClient) error {
	envelope, body, err := c.Share(c.signer)
	if err != nil {
		return err
	}
	s.up += len(envelope) + len(body)
	_, err = s.coordinator.AddShare(envelope, body)
	return err
}

// newAdder returns the adder for a study with secure sums. As in the daemons, its vectors have the
// length of the longest release of any phase.
func newAdder(st *study.Study, roster []pvi.ClientID, clock func() float64) (*Adder, error) {
	if a := st.Federation.Aggregation; a != study.Secure {
		return nil, fmt.Errorf("federation.aggregation = %q: only the clients of a study with %q add up securely", a, study.Secure)
	}
	public, err := session.Public(st, roster)
	if err != nil {
		return nil, err
	}
	return NewAdder(len(roster), public.MinClients(), public.VectorSize(), clock)
}

// Secure describes the secure sums so far, or returns nil if Options.Secure was not set.
func (f *Federation) Secure() *Secure {
	s := f.adder
	if s == nil {
		return nil
	}
	each := float64(s.plans * len(s.clients))
	return &Secure{Plans: s.plans, Up: float64(s.up) / each, Down: float64(s.down) / each, Client: 1000 * s.work / each, Hub: 1000 * s.hubs / float64(s.plans)}
}

// collectSecurely is [Federation.collect] with secure sums. No answer arrives if no plan is open.
func (f *Federation) collectSecurely() (*pvi.Outcome, error) {
	vectors, number := make([][]int64, len(f.Sites)), 0
	for {
		m, ok := f.post.next()
		if !ok {
			break
		}
		vectors[m], number = f.mail[m].Change, f.mail[m].Number
	}
	if number == 0 {
		return nil, nil
	}
	sum, err := f.adder.Add(vectors)
	if err != nil {
		return nil, err
	}
	return f.Server.Replay(&pvi.Outcome{Number: number, Participants: f.Protocol.Roster(), Sum: sum[:len(vectors[0])]})
}

func (f *Federation) lastSecurely(server *lastround.Server, releases []lastround.Release) (*lastround.Outcome, error) {
	var vectors [][]int64
	for _, r := range releases {
		vectors = append(vectors, slices.Concat(r.Gradient, r.Curvature))
	}
	sum, err := f.adder.Add(vectors)
	if err != nil {
		return nil, err
	}
	gradient := len(releases[0].Gradient)
	return server.Replay(&lastround.Outcome{Participants: f.Protocol.Roster(), Gradient: sum[:gradient], Curvature: sum[gradient:len(vectors[0])]})
}
