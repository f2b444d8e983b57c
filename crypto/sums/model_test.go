package sums

import (
	"math/bits"
	"testing"

	"fedpvi/crypto/sums/field"
)

// The model explores all possible runs of one plan in small federations. The coordinator and the
// last clients work together. In each state that can be reached, linear algebra shows how much they
// know about the vectors of the honest clients. This must be at most one sum over at least U_min
// clients (the number needed to open a sum). TestClientsFollowTheModel shows that the clients of
// this package take the same steps as the model, and no others.

// A rules value describes a federation: its sizes, and the faults that its honest clients have.
type rules struct {
	clients, corrupt, fewest int
	packed                   int // number of secrets in a polynomial; 0 means clients − fewest + 1

	unconfirmed  bool // fault: honest clients give shares for cuts without a certificate
	certificate  int  // number of confirmations that make a certificate; 0 means fewest
	anySize      bool // fault: a cut may have fewer than fewest deals
	forgets      bool // fault: after a restart, a client no longer knows that it has confirmed or shared
	sharesAgain  bool // fault: a client gives a share for each certified cut
	sharesOther  bool // fault: a client that has confirmed one cut gives a share for a different one
	anyPlan      bool // fault: deals and confirmations count for all plans
	plans        int  // number of contradicting plans that the coordinator publishes; 0 means 2
	honestShares bool // whether honest clients may share for two cuts if the shares reveal nothing; otherwise this is always a fault
}

const mostHonest = 4

// A modelCut is a cut that has the deals of all corrupt clients and of some honest ones.
type modelCut struct {
	plan   int // from 1
	honest int // bit set of the honest dealers
}

// A holder is the state of an honest client. plan, confirmed and shared are numbers from 1. said
// and gave are bit sets of cuts. Bit 0 is the first cut.
type holder struct {
	plan      int8   // plan that the client has made a deal for; 0 for none
	confirmed int8   // cut that the client has confirmed, as it remembers; 0 for none
	shared    int8   // cut that the client has given a share for, as it remembers; 0 for none
	said      uint32 // all cuts that the client has ever confirmed
	gave      uint32 // all cuts that the client has ever given a share for
}

// A modelState has the state of each honest client.
type modelState [mostHonest]holder

type explorer struct {
	rules
	honest int
	cuts   []modelCut
	judged map[[mostHonest]uint32]string
}

func newExplorer(m rules) *explorer {
	e := &explorer{rules: m, honest: m.clients - m.corrupt, judged: map[[mostHonest]uint32]string{}}
	if e.certificate == 0 {
		e.certificate = m.fewest
	}
	if e.packed == 0 {
		e.packed = m.clients - m.fewest + 1
	}
	if e.plans == 0 {
		e.plans = 2
	}
	for plan := 1; plan <= e.plans; plan++ {
		for set := 1; set < 1<<e.honest; set++ {
			if m.anySize || bits.OnesCount(uint(set))+m.corrupt >= m.fewest {
				e.cuts = append(e.cuts, modelCut{plan, set})
			}
		}
	}
	return e
}

// dealt reports whether all honest clients in a cut have made deals for its plan.
func (e *explorer) dealt(w *modelState, c modelCut) bool {
	for i := range e.honest {
		if c.honest>>i&1 == 1 && (w[i].plan == 0 || int(w[i].plan) != c.plan && !e.anyPlan) {
			return false
		}
	}
	return true
}

// certified reports whether the coordinator can make a certificate of a cut. Corrupt clients
// confirm every cut.
func (e *explorer) certified(w *modelState, cut int) bool {
	n := e.corrupt
	for i := range e.honest {
		for k := range e.cuts {
			if w[i].said>>k&1 == 1 && (k == cut || e.anyPlan && e.cuts[k].honest == e.cuts[cut].honest) {
				n++
				break
			}
		}
	}
	return n >= e.certificate
}

func (e *explorer) mayConfirm(h holder, cut int) bool {
	return int(h.plan) == e.cuts[cut].plan && h.confirmed == 0 && h.shared == 0 && !e.unconfirmed
}

// mayShare reports whether a client gives its share for a certified cut.
func (e *explorer) mayShare(h holder, cut int) bool {
	own := h.confirmed == 0 || h.confirmed == int8(cut+1) || e.sharesOther
	fresh := h.shared == 0 || e.sharesAgain && h.gave>>cut&1 == 0
	return int(h.plan) == e.cuts[cut].plan && own && fresh
}

func (h holder) confirm(cut int) holder {
	h.confirmed, h.said = int8(cut+1), h.said|1<<cut
	return h
}

func (h holder) share(cut int) holder {
	h.shared, h.gave = int8(cut+1), h.gave|1<<cut
	return h
}

// next calls f with each state that can follow w.
func (e *explorer) next(w modelState, f func(modelState)) {
	for j := range e.honest {
		h := w[j]
		to := func(next holder) {
			w[j] = next
			f(w)
			w[j] = h
		}
		if h.plan == 0 {
			for plan := 1; plan <= e.plans; plan++ {
				to(holder{plan: int8(plan)})
			}
			continue
		}
		if e.forgets && (h.confirmed != 0 || h.shared != 0) {
			to(holder{plan: h.plan, said: h.said, gave: h.gave})
		}
		for k, c := range e.cuts {
			if !e.dealt(&w, c) {
				continue
			}
			if e.mayConfirm(h, k) {
				to(h.confirm(k))
			}
			if e.mayShare(h, k) && (e.unconfirmed || e.certified(&w, k)) {
				to(h.share(k))
			}
		}
	}
}

// explore visits all states and returns how many there are. If it finds a fault, it stops and
// returns it.
func (e *explorer) explore() (states int, fault string) {
	seen := map[modelState]bool{{}: true}
	for queue := []modelState{{}}; len(queue) > 0; queue = queue[1:] {
		if fault := e.judge(&queue[0]); fault != "" {
			return len(seen), fault
		}
		e.next(queue[0], func(w modelState) {
			if !seen[w] {
				seen[w] = true
				queue = append(queue, w)
			}
		})
	}
	return len(seen), ""
}

// judge returns a fault unless the adversary knows at most one sum, which must be permitted, and
// the honest clients have given shares for at most one cut.
func (e *explorer) judge(w *modelState) string {
	var gave [mostHonest]uint32
	all := uint32(0)
	for j := range e.honest {
		gave[j] = w[j].gave
		all |= w[j].gave
	}
	if fault, ok := e.judged[gave]; ok {
		return fault
	}
	fault := e.learned(gave)
	if fault == "" && bits.OnesCount32(all) > 1 && !e.honestShares {
		fault = "honest clients share for two cuts"
	}
	e.judged[gave] = fault
	return fault
}

// learned returns a fault if the shares in gave reveal more than one permitted sum.
func (e *explorer) learned(gave [mostHonest]uint32) string {
	set := 0
	for _, row := range e.knowledge(gave) {
		of := 0
		for i := range e.honest {
			for a := range e.packed {
				if row[i*e.packed+a] != 0 {
					of |= 1 << i
				}
			}
		}
		if set != 0 && of != set || !e.sums(row, of) {
			return "more than one sum is learned"
		}
		set = of
	}
	switch n := bits.OnesCount(uint(set)); {
	case n == 1:
		return "one client's numbers are learned"
	case n > 0 && n+e.corrupt < e.fewest:
		return "a sum of too few clients is learned"
	}
	return ""
}

// sums reports whether a linear function has the same coefficients for all clients in set.
func (e *explorer) sums(row []uint64, set int) bool {
	first := bits.TrailingZeros(uint(set))
	for i := range e.honest {
		for a := range e.packed {
			if set>>i&1 == 1 && row[i*e.packed+a] != row[first*e.packed+a] {
				return false
			}
		}
	}
	return true
}

// knowledge returns the linear functions of the honest clients' secrets that the adversary can
// compute. It knows the columns of corrupt clients and the shares of honest clients. A polynomial
// is determined by the secrets and by random values at some other points.
func (e *explorer) knowledge(gave [mostHonest]uint32) (functions [][]uint64) {
	random := e.fewest - e.packed
	before := e.honest * random // number of columns for random values, which come before the columns for secrets
	var rows [][]uint64
	put := func(place, set int) {
		row, at := make([]uint64, before+e.honest*e.packed), e.values(place)
		for i := range e.honest {
			if set>>i&1 == 1 {
				copy(row[i*random:], at[e.packed:])
				copy(row[before+i*e.packed:], at[:e.packed])
			}
		}
		rows = append(rows, row)
	}
	for place := e.honest + 1; place <= e.clients; place++ {
		for i := range e.honest {
			put(place, 1<<i)
		}
	}
	for j := range e.honest {
		for k, c := range e.cuts {
			if gave[j]>>k&1 == 1 {
				put(j+1, c.honest)
			}
		}
	}
	for _, row := range eliminate(rows, before) {
		functions = append(functions, row[before:])
	}
	return functions
}

// values returns the value of a polynomial at a place as a linear function of the secrets and
// random values. The result has the coefficients.
func (e *explorer) values(place int) []uint64 {
	coefficients := make([]uint64, e.fewest)
	for i := range coefficients {
		x, top, bottom := e.clients+1+i, uint64(1), uint64(1)
		for k := range coefficients {
			if y := e.clients + 1 + k; y != x {
				top = field.Mul(top, field.FromInteger(int64(place-y)))
				bottom = field.Mul(bottom, field.FromInteger(int64(x-y)))
			}
		}
		coefficients[i] = field.Mul(top, invert(bottom))
	}
	return coefficients
}

// invert returns 1/a, which is a^(P − 2) by Fermat's theorem.
func invert(a uint64) uint64 {
	r := uint64(1)
	for e := uint64(field.P - 2); e > 0; e >>= 1 {
		if e&1 == 1 {
			r = field.Mul(r, a)
		}
		a = field.Mul(a, a)
	}
	return r
}

// eliminate uses Gaussian elimination to find the combinations of rows whose first columns are
// zero. It returns a basis of them.
func eliminate(rows [][]uint64, first int) (rest [][]uint64) {
	rank := 0
	for col := 0; col < first; col++ {
		at := rank
		for at < len(rows) && rows[at][col] == 0 {
			at++
		}
		if at == len(rows) {
			continue
		}
		rows[rank], rows[at] = rows[at], rows[rank]
		inverse := invert(rows[rank][col])
		for _, row := range rows[rank+1:] {
			factor := field.Mul(row[col], inverse)
			for i, x := range rows[rank] {
				row[i] = field.Sub(row[i], field.Mul(factor, x))
			}
		}
		rank++
	}
	for _, row := range rows[rank:] {
		for _, x := range row {
			if x != 0 {
				rest = append(rest, row)
				break
			}
		}
	}
	return rest
}

//abuse:case P16 in every run of small federations one sum is learned at most
func TestModelLearnsOneSum(t *testing.T) {
	for _, c := range []struct{ clients, corrupt, fewest, states int }{
		{3, 1, 3, 21}, {4, 0, 3, 4765}, {4, 1, 3, 787}, {4, 2, 4, 21}, {4, 0, 4, 141}, {5, 1, 4, 4765}, {5, 2, 4, 787},
	} {
		e := newExplorer(rules{clients: c.clients, corrupt: c.corrupt, fewest: c.fewest})
		if states, fault := e.explore(); fault != "" || states != c.states {
			t.Errorf("%+v: %d states, %q", c, states, fault)
		}
	}
}

func TestModelFindsFaults(t *testing.T) {
	four := rules{clients: 4, corrupt: 1, fewest: 3}
	with := func(change func(m *rules)) rules { m := four; change(&m); return m }
	for name, c := range map[string]struct {
		m    rules
		want string
	}{
		"one honest client left, of three":    {rules{clients: 3, corrupt: 2, fewest: 3}, "one client's numbers are learned"},
		"one honest client left, of four":     {rules{clients: 4, corrupt: 3, fewest: 4}, "one client's numbers are learned"},
		"one more corrupt client than h":      {with(func(m *rules) { m.corrupt = 2 }), "more than one sum is learned"},
		"half of the clients open a sum":      {rules{clients: 4, fewest: 2, packed: 1}, "honest clients share for two cuts"},
		"no confirmations":                    {with(func(m *rules) { m.unconfirmed = true }), "more than one sum is learned"},
		"a certificate of one fewer":          {with(func(m *rules) { m.certificate = 2 }), "more than one sum is learned"},
		"the size of the cut is not checked":  {with(func(m *rules) { m.anySize = true }), "one client's numbers are learned"},
		"a restart forgets what was said":     {with(func(m *rules) { m.forgets, m.plans = true, 1 }), "more than one sum is learned"},
		"nothing depends on the plan":         {with(func(m *rules) { m.anyPlan = true }), "honest clients share for two cuts"},
		"shares again for every certificate":  {with(func(m *rules) { m.sharesAgain, m.plans = true, 1 }), ""},
		"shares for another certified cut":    {with(func(m *rules) { m.sharesOther = true }), ""},
		"packed as if all but t could answer": {with(func(m *rules) { m.packed = 2; m.unconfirmed = true }), "more than one sum is learned"},
	} {
		// In every run, there are shares for two cuts before they reveal anything. So this counts
		// as a fault only in the cases that expect it.
		c.m.honestShares = c.want != "honest clients share for two cuts"
		if _, fault := newExplorer(c.m).explore(); fault != c.want {
			t.Errorf("%s: %q, want %q", name, fault, c.want)
		}
	}
}

// A liveState is the state of a plan in which all clients are honest. Its fields are sets of
// clients.
type liveState struct{ up, dealt, cut, confirmed, shared uint8 }

// If at least U_min clients stay, a plan must end, no matter when the others stop and when
// deadlines pass.
func TestModelEnds(t *testing.T) {
	for _, c := range []struct{ clients, fewest int }{{3, 3}, {4, 3}, {4, 4}, {5, 4}, {6, 4}} {
		if stuck := live(c.clients, c.fewest, false, false); stuck != nil {
			t.Errorf("%+v: stuck in %+v", c, *stuck)
		}
	}
	if live(4, 3, true, false) == nil {
		t.Error("a certificate of all clients of the cut blocks nobody")
	}
	if live(4, 3, false, true) == nil {
		t.Error("clients that confirm only what they have dealt for block nobody")
	}
}

// live looks for a state in which the sum is not opened but no step is possible, and returns it or
// nil. If all is true, a certificate needs confirmations from all dealers in the cut. If dealers is
// true, only dealers may confirm.
func live(clients, fewest int, all, dealers bool) *liveState {
	count := func(set uint8) int { return bits.OnesCount8(set) }
	seen := map[liveState]bool{}
	var stack []liveState
	push := func(s liveState) {
		if !seen[s] {
			seen[s] = true
			stack = append(stack, s)
		}
	}
	push(liveState{up: 1<<clients - 1})
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if count(s.shared) >= fewest {
			continue
		}
		certificate := count(s.confirmed) >= fewest
		if all {
			certificate = s.cut != 0 && s.confirmed&s.cut == s.cut
		}
		moved := false
		for j := range clients {
			me, next := uint8(1)<<j, s
			switch {
			case s.up&me == 0:
				continue
			case s.cut == 0:
				next.dealt |= me
			case !certificate && (!dealers || s.dealt&me != 0):
				next.confirmed |= me
			case certificate:
				next.shared |= me
			}
			if next != s {
				moved = true
				push(next)
			}
			if clients-count(s.up) < clients-fewest {
				gone := s
				gone.up &^= me
				push(gone)
			}
		}
		if s.cut == 0 && count(s.dealt) >= fewest { // once all clients have dealt, or the deadline has passed
			next := s
			next.cut = s.dealt
			moved = true
			push(next)
		}
		if !moved {
			return &s
		}
	}
	return nil
}
