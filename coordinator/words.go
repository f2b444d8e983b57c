package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Headline returns a line with the progress of the study, the event that it is waiting for, and how
// long it has waited.
func (s *Status) Headline(now time.Time) string {
	text := s.Progress()
	if s.Waits == "" {
		return text
	}
	return text + ", waiting for " + s.Wait() + ", since " + Span(now.Sub(s.Since))
}

// Progress returns the phase of the study. If the study is running, it returns the plans so far, as
// in "plan 3 of 20".
func (s *Status) Progress() string {
	if s.Phase == Running {
		return fmt.Sprintf("plan %d of %d", s.Asked, s.Of)
	}
	return string(s.Phase)
}

// Wait describes the event and the clients that the study is waiting for. If it is not waiting,
// Wait returns "".
func (s *Status) Wait() string {
	text := s.Waits
	if len(s.For) > 0 {
		text += ": " + List(s.For)
	}
	if gone := s.missed(); len(gone) > 0 {
		text += " (gossip misses " + List(gone) + ")"
	}
	return text
}

// missed returns the clients that the study is waiting for although gossip has lost contact with
// them.
func (s *Status) missed() (gone []string) {
	for _, c := range s.Clients {
		if c.Missed != nil && slices.Contains(s.For, string(c.Name)) {
			gone = append(gone, string(c.Name))
		}
	}
	return gone
}

// LastRound describes the last round. The first line has the verdict. If the coordinator can read
// the clients' messages, there is another line for the influence of each answer.
func (s *Status) LastRound() []string {
	r := s.Last
	if r == nil {
		return nil
	}
	text := fmt.Sprintf("plan %d was %s", r.Plan, r.Verdict)
	if r.Missing != nil {
		text += fmt.Sprintf(", without the answer of %s", List(r.Missing))
	}
	lines := []string{text}
	for _, i := range r.Influences {
		text := fmt.Sprintf("%s: %.3g times the median norm of the other answers", i.Client, i.Norm)
		switch {
		case i.Blocks:
			text += "; without it the round would have been accepted"
		case i.Shift > 0:
			text += fmt.Sprintf("; without it a coefficient moves by %.3g sds of %s", i.Shift, r.SDs)
		}
		lines = append(lines, text)
	}
	return lines
}

// Span returns a duration as readable text.
func Span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d <= 0:
		return "0s"
	case d < time.Minute:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// List joins names with commas, for use in a sentence. After eight names, it only says how many
// others there are.
func List[S ~string](names []S) string {
	const most = 8
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == most:
			return b.String() + fmt.Sprintf(" and %d more", len(names)-most)
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(name))
	}
	return b.String()
}
