package session

import (
	"fmt"
	"slices"
	"sync"
	"weak"

	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// A phase states the number of its plans and the sizes of its messages, and makes the state
// machines of server and sites. To add a phase, write its three types and add it to newCourse.
type phase interface {
	kinds() (plan, outcome Kind)
	plans() int   // number of plans in the phase
	section() int // index of the phase's section in a saved state

	elements() int                       // longest list of numbers in a message
	maxRelease(longest pvi.ClientID) int // bytes of the longest release
	maxEntry() int                       // bytes of the longest body of an entry
	numbers(number int) int              // elements of a vector for a plan
	// sumOf returns the sum in an outcome, without padding.
	sumOf(body []byte) (Sum, error)
	vectorOf(release []byte) ([]int64, error) // elements of a release
	fetched(number int) bool                  // whether the releases for a plan are too long for its outcome
	limit(number int) int64                   // largest absolute value of an element of a release

	newServer(*Server) (serverPhase, error)
	newSite(*Site) (sitePhase, error)
}

// A serverPhase is the coordinator's state machine for a phase. Plans are numbered from 1 within
// the phase. Bodies are messages of [fedpvi/pvi/wire].
type serverPhase interface {
	// next returns the next plan, or false if there is none or it must wait for answers to earlier
	// plans.
	next() (number int, body []byte, ok bool)
	// collect adds a client's release for a plan. If it completes the answers, it returns the
	// outcome, and otherwise nil.
	collect(client pvi.ClientID, number int, release []byte) (outcome []byte, err error)
	// collectSum ends a plan with the opened sum of the participants' vectors (secure aggregation).
	collectSum(number int, sum Sum) (outcome []byte, err error)
	// close ends a plan without the missing answers.
	close(number int) (outcome []byte, err error)
	// replay applies an outcome from a transcript. It returns the clients that the outcome counts,
	// and the outcome that the server computes from the same sum.
	replay(number int, body []byte) (participants []pvi.ClientID, outcome []byte, err error)

	waiting(number int) []pvi.ClientID // nil if the plan is not open
	fewest() int                       // fewest answers for which a plan is not void
	model() [32]byte                   // hash of the state behind the next plan

	machine
}

// A sitePhase is a client's state machine for a phase.
type sitePhase interface {
	// foretell computes a plan from the outcomes so far. It returns false if the plan depends on
	// the order of answers.
	foretell(number int) (body []byte, ok bool)
	// foretellOutcome computes the outcome of a plan from the opened sum, assuming that the server
	// accepts it.
	foretellOutcome(number int, sum Sum) []byte
	// check checks a plan of the server. It returns [pvi.Refused] if the plan is invalid, and
	// otherwise whether it names the client.
	check(number int, body []byte) (named bool, err error)
	// quote returns the largest cost of the answer to the next plan.
	quote() (Spent, error)
	// answer answers a plan. It sets a.Model and a.Release or, with secure aggregation, a.Vector.
	// After an error a.Spent is the cost of the noise that was drawn.
	answer(a *Answer, body []byte, src *dpmech.Stream) error
	model(body []byte) [32]byte // hash of the state behind a plan; zero if the body is invalid

	// checkQueued returns [pvi.Refused] if an outcome cannot come next. waiting is the number of
	// outcomes queued before it.
	checkQueued(number int, body []byte, waiting int) error
	settle(number int, body []byte) error

	releases() int // number of releases charged to the client

	machine
}

// kept holds the fields of phases that are saved in the server's or site's own section (see
// sections).
type kept struct {
	Verdicts tally
	InARow   int    `json:",omitempty"` // failed rounds since the last accepted one (see [History])
	Ending   []byte `json:",omitempty"` // outcome of the last round
}

// A course holds the phases of a study in order, with their protocols.
type course struct {
	study  *study.Study // study before the scale phase
	phases []phase      // all phases of the study, first to last
	// public is the protocol of the rounds for the public bounds. A scale phase may find narrower
	// ones, but costs and sizes do not depend on them.
	public   *pvi.Protocol
	protocol *pvi.Protocol // protocol of the rounds; nil until the scale is found
	digest   [32]byte      // identifies the scale phase until it ends, then protocol
	limits   wire.Limits
}

// newCourse refuses a published method whose privacy claim is wrong (see [pvi.Protocol.Published]).
// Such methods are only for simulations.
func newCourse(st *study.Study, roster []pvi.ClientID) (*course, error) {
	c := &course{study: st}
	onPublic := st
	if !st.HasScale() {
		var err error
		if onPublic, err = c.addScale(roster); err != nil {
			return nil, err
		}
	}
	var err error
	if c.public, err = protocolOf(onPublic, roster); err != nil {
		return nil, err
	}
	if part := c.public.Published(); part != "" {
		return nil, fmt.Errorf("study %s: its %s are done as published, and the privacy that is claimed for that does not hold: a simulation may play it, clients with records of their own may not", st.Name, part)
	}
	if st.HasScale() {
		c.begin(c.public)
	}
	c.phases = append(c.phases, &roundsPhase{c})
	for _, r := range c.public.After() {
		c.phases = append(c.phases, &lastPhase{c, r})
	}
	c.limits = c.newLimits()
	return c, nil
}

// latest is the protocol that protocolOf returned last, as a weak reference.
var latest struct {
	sync.Mutex
	protocol weak.Pointer[pvi.Protocol]
}

// protocolOf returns the protocol of a study. In a simulation the server and all sites share one,
// so that its method's caches are filled once.
func protocolOf(st *study.Study, roster []pvi.ClientID) (*pvi.Protocol, error) {
	latest.Lock()
	p := latest.protocol.Value()
	latest.Unlock()
	if p != nil && p.Study() == st && slices.Equal(p.Roster(), slices.Sorted(slices.Values(roster))) {
		return p, nil
	}
	p, err := pvi.NewProtocol(st, roster)
	if err != nil {
		return nil, err
	}
	latest.Lock()
	latest.protocol = weak.Make(p)
	latest.Unlock()
	return p, nil
}

// present returns the protocol of the rounds or, before the scale is found, the one for the public
// bounds.
func (c *course) present() *pvi.Protocol {
	if c.protocol == nil {
		return c.public
	}
	return c.protocol
}

func (c *course) begin(p *pvi.Protocol) { c.protocol, c.digest = p, p.Digest() }

func (c *course) newLimits() wire.Limits {
	l := wire.Limits{Clients: len(c.public.Roster())}
	for _, id := range c.public.Roster() {
		l.Name = max(l.Name, len(id))
	}
	for _, p := range c.phases {
		l.Elements = max(l.Elements, p.elements())
	}
	return l
}

func (c *course) plans() (n int) {
	for _, p := range c.phases {
		n += p.plans()
	}
	return n
}

// at converts the number of a plan in the study to the index of its phase and its number there,
// from 1.
func (c *course) at(plan int) (place, number int) {
	end := len(c.phases) - 1
	for i, p := range c.phases[:end] {
		if plan <= p.plans() {
			return i, plan
		}
		plan -= p.plans()
	}
	return end, plan
}

// numbered is the inverse of at.
func (c *course) numbered(place, number int) int {
	for _, p := range c.phases[:place] {
		number += p.plans()
	}
	return number
}

func refuse(format string, args ...any) error {
	return &pvi.Refused{Reason: fmt.Sprintf(format, args...)}
}

// checkSender refuses a release that names another client or plan than its message.
func checkSender(client, of pvi.ClientID, number, to int) error {
	switch {
	case client != of:
		return refuse("client %q sent a release of client %q", client, of)
	case number != to:
		return refuse("the release of client %q is for another plan than its envelope names", client)
	}
	return nil
}

func misnumbered(number int) error {
	return refuse("message %d of its phase has another number in it", number)
}
