package phase

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi/study"
)

// A Roster is the list of clients that take part in a study. It is immutable.
type Roster struct {
	Clients   []ClientID // sorted by name
	Fewest    int        // U_min, the smallest number of answers for which a sum is opened
	Colluders int        // t, the number of clients that may collude; below Fewest
}

// NewRoster returns the roster of a study, from clients in any order. It returns an error if the
// study cannot run with them.
func NewRoster(st *study.Study, clients []ClientID) (Roster, error) {
	r := Roster{Clients: slices.Sorted(slices.Values(clients)), Fewest: st.Federation.MinClients}
	for i, id := range r.Clients {
		if id == "" {
			return r, errors.New("the roster has a client without a name")
		}
		if i > 0 && r.Clients[i-1] == id {
			return r, fmt.Errorf("the roster names client %q twice", id)
		}
	}
	if r.Fewest == 0 {
		r.Fewest = len(r.Clients)
	}
	if len(r.Clients) < r.Fewest || len(r.Clients) == 0 {
		return r, fmt.Errorf("the roster has %d clients, fewer than federation.min_clients = %d: enrol more, or lower it, which raises every client's noise share", len(r.Clients), max(1, r.Fewest))
	}
	if r.Colluders = st.Federation.Colluders; r.Colluders == study.OneOther {
		r.Colluders = min(1, r.Fewest-1)
	}
	if r.Colluders >= r.Fewest {
		return r, fmt.Errorf("with federation.colluders = %d, %d colluders would know every noise share of the %d clients in the smallest sum", r.Colluders, r.Colluders, r.Fewest)
	}
	if st.Federation.Aggregation == study.Secure {
		if err := r.checkSecure(r.Colluders); err != nil {
			return r, err
		}
	}
	return r, r.checkDelta(st)
}

// checkSecure returns an error if secure aggregation could not hide messages from the coordinator
// and max(1, colluders) clients.
func (r Roster) checkSecure(colluders int) error {
	m := len(r.Clients)
	// least is the smallest number with 2·least − m − 1 ≥ max(1, colluders) and least ≥ colluders +
	// 2.
	least := max(colluders+2, (m+2+max(1, colluders))/2)
	switch {
	case least > m:
		return fmt.Errorf(`federation.aggregation = %q among %d clients does not hide one client's messages from %d colluders: enrol at least %d clients, or lower federation.colluders`, study.Secure, m, colluders, max(2, colluders+2))
	case r.Fewest < least:
		return fmt.Errorf(`federation.aggregation = %q among %d clients with sums of %d would not hide one client's messages from the coordinator with %d others: write federation.min_clients = %d or more, so that at most %d may be missing from a round`,
			study.Secure, m, r.Fewest, max(1, colluders), least, m-least)
	}
	return nil
}

// checkDelta returns an error if publishing one record or client at random would satisfy the
// study's δ.
func (r Roster) checkDelta(st *study.Study) error {
	privacy := st.Privacy
	count, who := len(r.Clients), "clients"
	switch privacy.Unit {
	case study.None:
		return nil
	case study.Record, study.Person:
		if nominal := st.Federation.NominalRecords; nominal > 0 {
			count, who = count*nominal, fmt.Sprintf("records (%d clients with federation.nominal_records = %d)", len(r.Clients), nominal)
		}
	}
	if most := 1 / float64(count); privacy.Delta >= most {
		return fmt.Errorf("privacy.delta = %g is not below 1/%d = %.3g, one over the number of %s: publishing one of them outright would meet it; write a smaller one, such as %.0e",
			privacy.Delta, count, most, who, most/10)
	}
	return nil
}

// Digest returns the digest of the study and this roster, for every message. scale holds the bounds
// from the scale phase, or is nil.
func (r Roster) Digest(st *study.Study, scale []study.Bounds) Digest {
	h := sha256.New()
	io.WriteString(h, "fedpvi/protocol/v1")
	h.Write(st.Digest[:])
	for _, id := range r.Clients {
		fmt.Fprintf(h, "%d:%s", len(id), id) // the length makes the encoding unique
	}
	for _, b := range scale {
		// %x prints a float exactly, so different scales have different digests.
		fmt.Fprintf(h, "[%x,%x]", b.Low, b.High)
	}
	return Digest(h.Sum(nil))
}

// Index returns the index of a client in the roster, and whether the client is in it.
func (r Roster) Index(id ClientID) (int, bool) { return slices.BinarySearch(r.Clients, id) }

// Selects reports whether some are clients of the roster, in its order and without repetition.
func (r Roster) Selects(some []ClientID) bool { return InOrder(some, r.Clients) }

// InOrder reports whether the first list is a subsequence of the second.
func InOrder(some, all []ClientID) bool {
	if len(some) == len(all) && len(all) > 0 && &some[0] == &all[0] {
		return true // within one process, server and sites use the same slice
	}
	for _, id := range some {
		i := slices.Index(all, id)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}

// Missing returns the elements of clients that are not in answered.
func Missing(clients, answered []ClientID) []ClientID {
	var out []ClientID
	for _, id := range clients {
		if _, ok := slices.BinarySearch(answered, id); !ok {
			out = append(out, id)
		}
	}
	return out
}

// CheckReplay returns a refusal if the participants are not clients of the plan, or if the sum is
// larger than their answers allow. A nil sum is not checked.
func CheckReplay(participants, clients []ClientID, sum []int64, size int, within dpmech.Range) error {
	for i, id := range participants {
		if _, ok := slices.BinarySearch(clients, id); !ok || i > 0 && participants[i-1] >= id {
			return Refuse("an outcome counts clients that its plan does not name, or not in order")
		}
	}
	if sum == nil {
		return nil
	}
	if len(sum) != size {
		return Refuse("a sum has %d elements, want %d", len(sum), size)
	}
	most := within.Of(len(participants))
	for i, n := range sum {
		if n > most || n < -most {
			return Refuse("element %d of a sum is beyond what %d answers can yield", i+1, len(participants))
		}
	}
	return nil
}
