package session

import (
	"fmt"
	"slices"
	"strings"

	"fedpvi/pvi"
)

// A Round says how a round ended. It has the verdict, the influence of each answer and, for a void
// round, the missing clients.
type Round struct {
	Plan       int             `json:"plan"` // number of the plan, counted over all phases
	Verdict    pvi.Verdict     `json:"verdict"`
	Influences []pvi.Influence `json:"influences,omitempty"` // influence of each answer; only if releases are published
	SDs        string          `json:"shift_in_sds_of"`      // whose standard deviations are the unit of shifts: those of "q", or of "the prior" for point estimates
	Missing    []pvi.ClientID  `json:"missing,omitempty"`    // if the round was void, the clients that did not answer
}

// Blocking returns the clients because of whom λ was rejected: without the answer of any one of
// them, it would have been accepted. It returns nil if releases are not published.
func (r *Round) Blocking() []string {
	var names []string
	for _, i := range r.Influences {
		if i.Blocks {
			names = append(names, string(i.Client))
		}
	}
	return names
}

// A History says how many rounds have ended with each verdict.
type History struct {
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Void     int `json:"void"`
	// InARow is the number of failed rounds since the last accepted one. A round fails if it is
	// rejected, or if it is void although some clients have answered. Clients have paid for these
	// rounds.
	InARow int `json:"rejected_in_a_row"`
}

// A history counts the rounds that a server or site has seen, by verdict.
type history struct {
	tally
	inARow int
}

func (h *history) count(o *pvi.Outcome) {
	h.tally.count(o.Verdict)
	switch {
	case o.Verdict == pvi.Accepted:
		h.inARow = 0
	case o.Verdict == pvi.Rejected || len(o.Participants) > 0:
		h.inARow++
	}
}

func (h *history) keep(k *kept) { k.Verdicts, k.InARow = h.tally, h.inARow }
func (h *history) take(k *kept) { h.tally, h.inARow = k.Verdicts, k.InARow }

// A historian is a phase that counts its rounds by verdict.
type historian interface{ history() *history }

// Watch makes the server compute the influence of each answer, if the study publishes releases.
// This takes extra time. See [pvi.Server.Watch].
func (s *Server) Watch() { s.watching = true }

// Last returns the verdict and the influences for the given plan's round, if no other round has
// ended since.
func (s *Server) Last(plan int) (Round, bool) {
	if s.last == nil || s.last.Plan != plan {
		return Round{}, false
	}
	return *s.last, true
}

func stalled(rounds int, last *Round) string {
	why := fmt.Sprintf("%d rounds in a row did not move the posterior: they left no proper distribution, or lacked answers (federation.max_rejected); each was paid for", rounds)
	if last == nil {
		return why
	}
	if last.Missing != nil {
		why += "; the last one lacked the answer of " + strings.Join(names(last.Missing), " and of ")
	}
	if names := last.Blocking(); len(names) > 0 && last.Verdict == pvi.Rejected {
		slices.Sort(names)
		why += "; the last one would have been accepted without the answer of " + strings.Join(names, ", or without that of ")
	}
	return why
}

func names(clients []pvi.ClientID) []string {
	all := make([]string, len(clients))
	for i, id := range clients {
		all[i] = string(id)
	}
	return all
}
