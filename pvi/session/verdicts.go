package session

import (
	"fmt"
	"slices"
	"strings"

	"fedpvi/pvi"
)

// A Round tells how a round ended.
type Round struct {
	Plan       int             `json:"plan"` // number of the plan over all phases
	Verdict    pvi.Verdict     `json:"verdict"`
	Influences []pvi.Influence `json:"influences,omitempty"` // of each answer, where messages are opened; see [pvi.Influence]
}

// Blocking returns the clients without whose answer the round would not have been rejected.
func (r *Round) Blocking() []string {
	var names []string
	for _, i := range r.Influences {
		if i.Blocks {
			names = append(names, string(i.Client))
		}
	}
	return names
}

// A History counts how the rounds ended so far.
type History struct {
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Void     int `json:"void"`
	InARow   int `json:"rejected_in_a_row"` // number of rejected rounds since the last accepted one
}

// history counts verdicts, for a machine.
type history struct {
	tally
	inARow int
}

func (h *history) count(v pvi.Verdict) {
	h.tally.count(v)
	switch v {
	case pvi.Accepted:
		h.inARow = 0
	case pvi.Rejected:
		h.inARow++
	}
}

func (h *history) keep(k *kept) { k.Verdicts, k.InARow = h.tally, h.inARow }
func (h *history) take(k *kept) { h.tally, h.inARow = k.Verdicts, k.InARow }

// historian is a phase that counts verdicts.
type historian interface{ history() *history }

func historyOf[P any](phases []P) (h History) {
	for _, p := range phases {
		if rounds, ok := any(p).(historian); ok {
			v := rounds.history()
			h = History{v.Accepted, v.Rejected, v.Void, v.inARow}
		}
	}
	return h
}

// History returns how the rounds ended so far.
func (s *Server) History() History { return historyOf(s.phases) }

// History returns how the rounds ended so far that the site has followed.
func (s *Site) History() History { return historyOf(s.phases) }

// Watch makes the server compute the influence of each answer where messages are opened. See
// [pvi.Server.Watch].
func (s *Server) Watch() { s.watching = true }

// Last returns how the round of a plan ended, if it was the last plan that ended and was a round.
func (s *Server) Last(plan int) (Round, bool) {
	if s.last == nil || s.last.Plan != plan {
		return Round{}, false
	}
	return *s.last, true
}

// Stalled returns why a study goes no further after so many rejected rounds in a row, or "". All of
// them cost privacy.
func (s *Server) Stalled() string {
	most := s.course.study.Federation.MaxRejected
	if h := s.History(); most > 0 && h.InARow >= most {
		return stalled(h.InARow, s.last)
	}
	return ""
}

// Stalled is like [Server.Stalled] for the rounds that the site has followed.
func (s *Site) Stalled() string {
	most := s.course.study.Federation.MaxRejected
	if h := s.History(); most > 0 && h.InARow >= most {
		return stalled(h.InARow, nil)
	}
	return ""
}

// Resume begins to count rejected rounds in a row anew, after the study has changed.
func (s *Server) Resume() { resume(s.phases) }

// Resume is like [Server.Resume].
func (s *Site) Resume() { resume(s.phases) }

func resume[P any](phases []P) {
	for _, p := range phases {
		if rounds, ok := any(p).(historian); ok {
			rounds.history().inARow = 0
		}
	}
}

func stalled(rounds int, last *Round) string {
	why := fmt.Sprintf("%d rounds in a row left no proper distribution and were rejected (federation.max_rejected); each was paid for", rounds)
	if last == nil {
		return why
	}
	if names := last.Blocking(); len(names) > 0 && last.Verdict == pvi.Rejected {
		slices.Sort(names)
		why += "; the last one would have been accepted without the answer of " + strings.Join(names, ", or without that of ")
	}
	return why
}
