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

// A phase knows how many plans it has and how large its messages are, and makes the state machines
// of the server and the sites. To add a phase, write its three types and add it to newCourse.
type phase interface {
	kinds() (plan, outcome Kind)
	plans() int   // number of plans
	section() int // index of the section in a saved state

	elements() int                       // length of the longest list of numbers in a message
	maxRelease(longest pvi.ClientID) int // length of the longest release in bytes
	maxEntry() int                       // length of the longest entry body in bytes
	numbers(number int) int              // number of vector elements for a plan
	// sumOf returns the sum in an outcome, without the padding.
	sumOf(body []byte) (Sum, error)
	vectorOf(release []byte) ([]int64, error) // elements of a release
	fetched(number int) bool                  // whether the releases for a plan are too long for the plan's outcome
	limit(number int) int64                   // largest absolute value of an element of a release

	newServer(*Server) (serverPhase, error)
	newSite(*Site) (sitePhase, error)
}

// A serverPhase is the coordinator's state machine for one phase. Plans are numbered from 1 within
// the phase. Each body is a message of [fedpvi/pvi/wire].
type serverPhase interface {
	// next returns the next plan. It returns false if there are no more plans, or if the next one has
	// to wait for answers to earlier ones.
	next() (number int, body []byte, ok bool)
	// collect adds a client's release to the sum of a plan. After the last missing answer it returns
	// the outcome; before, it returns nil.
	collect(client pvi.ClientID, number int, release []byte) (outcome []byte, err error)
	// collectSum ends a plan with the opened sum of the participants' vectors. It is for secure
	// aggregation.
	collectSum(number int, sum Sum) (outcome []byte, err error)
	// close ends a plan without waiting for missing answers.
	close(number int) (outcome []byte, err error)
	// replay applies an outcome from a transcript. It returns the clients whose answers the outcome
	// contains, and the outcome that the server computes from the same sum.
	replay(number int, body []byte) (participants []pvi.ClientID, outcome []byte, err error)

	waiting(number int) []pvi.ClientID // nil if the plan is not open
	fewest() int                       // number of answers below which a plan is void
	model() [32]byte                   // hash of the state that the next plan will be made from

	machine
}

// A sitePhase is a client's state machine for one phase.
type sitePhase interface {
	// foretell computes a plan from the outcomes so far. It returns false if plans depend on the order
	// of answers.
	foretell(number int) (body []byte, ok bool)
	// foretellOutcome computes the outcome of a plan from the opened sum. It assumes that the server
	// will accept the sum.
	foretellOutcome(number int, sum Sum) []byte
	// check checks a plan from the server, and reports whether the plan asks this client. If the plan
	// is invalid, the error is [pvi.Refused].
	check(number int, body []byte) (named bool, err error)
	// quote returns the largest cost that answering the next plan can have.
	quote() (Spent, error)
	// answer answers a plan. It sets a.Model, and either a.Release or, with secure aggregation,
	// a.Vector. If it returns an error, a.Spent is the cost of the noise that was drawn.
	answer(a *Answer, body []byte, src *dpmech.Stream) error
	model(body []byte) [32]byte // hash of the state that a plan was made from; zero if the body is invalid

	// checkQueued returns [pvi.Refused] if an outcome cannot be the next one. waiting is the number of
	// outcomes that are already queued.
	checkQueued(number int, body []byte, waiting int) error
	settle(number int, body []byte) error

	releases() int // number of releases that the client has been charged for

	machine
}

// kept holds those fields of phases that are saved in the first section, with the fields of the
// server or site itself (see sections).
type kept struct {
	Verdicts tally
	InARow   int    `json:",omitempty"` // number of failed rounds since the last accepted one (see [History])
	Ending   []byte `json:",omitempty"` // outcome of the last round
}

// A course holds the phases of a study in order, with their protocols.
type course struct {
	study  *study.Study // the study as it is before the scale phase
	phases []phase      // all phases of the study, in order
	// public is the protocol of the rounds under the public bounds. A scale phase may find narrower
	// bounds, but these do not affect costs or sizes.
	public   *pvi.Protocol
	protocol *pvi.Protocol // protocol of the rounds; nil until the scale is known
	digest   [32]byte      // digest of the scale phase or, when that has ended, of protocol
	limits   wire.Limits
}

// newCourse refuses a study that uses a published method whose privacy claim is wrong (see
// [pvi.Protocol.Published]). Such methods are meant for simulations only.
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

// latest is a weak reference to the protocol that protocolOf returned last.
var latest struct {
	sync.Mutex
	protocol weak.Pointer[pvi.Protocol]
}

// protocolOf returns the protocol of a study. In a simulation the server and all sites share a
// protocol, so that the caches in its method are filled only once.
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

// present returns the protocol of the rounds or, until the scale is known, the one under the public
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

// at finds the phase of a plan, given the plan's number in the study. It returns the index of the
// phase and the plan's number within the phase, from 1.
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

// checkSender refuses a release if the client or plan in it differs from that of the message.
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
