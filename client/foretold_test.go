package client_test

import (
	"testing"

	"fedpvi/client"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/session"
	"fedpvi/pvi/wire"
)

func TestPlansAreComputedLocally(t *testing.T) {
	for name, c := range map[string]struct {
		source []byte
		away   bool
	}{
		"data sets":                     {planeStudy(clientPrivacy, "", ""), false},
		"data sets, one client is away": {planeStudy(clientPrivacy, "", "min_clients = 2"), true},
		"records, sequential":           {planeStudy(recordPrivacy, "schedule = \"sequential\"", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			h, all := begun(t, c.source, "north", "south", "west")
			if c.away {
				for _, p := range all[:2] {
					p.mustStep()
				}
				h.close(1)
			}
			play(t, all)
			if h.asked != 0 {
				t.Errorf("%d plans were requested", h.asked)
			}
		})
	}
}

// The plan that a client computes may differ from the coordinator's plan, for example by rounding.
// The client must then request the plan. If the plan is invalid, it must refuse it without a
// charge.
//
//abuse:case A03 a plan that the client cannot compute itself is requested and checked by the same rules
func TestPlanThatCannotBeComputedLocally(t *testing.T) {
	source := planeStudy(clientPrivacy, "", "")
	for name, c := range map[string]struct {
		change func(h *hub, b []byte) []byte
		says   string
	}{
		"another centre": {func(h *hub, b []byte) []byte {
			p, err := wire.ReadPlan(b, wire.Limits{Elements: 100, Clients: 10, Name: 40})
			check(t, err)
			p.Centre[0]++
			return wire.AppendPlan(nil, p)
		}, ""},
		"another λ":  {func(h *hub, b []byte) []byte { b[len(b)/2]++; return b }, "λ"},
		"no plan":    {func(h *hub, b []byte) []byte { return b[:10] }, "ends too early"},
		"an earlier": {func(h *hub, b []byte) []byte { return h.items[1].Body }, "message 2"},
	} {
		t.Run(name, func(t *testing.T) {
			h, all := federation(t, source, "north", "south", "west") // south does not answer the second plan
			h.lie = func(e *session.Entry, _ *transcript.Hash) {
				if e.Kind == session.Plan && e.Plan == 2 {
					e.Body = c.change(h, e.Body)
				}
			}
			h.begin()
			for _, p := range all[:2] {
				p.mustStep() // north and south answer the first plan
			}
			_, err := all[2].step()
			if (err == nil) != (c.says == "") {
				t.Errorf("the second plan: %v", err)
			}
			p := all[0]
			spent := p.account().Spent
			_, err = p.step()
			if c.says != "" {
				p.refused(name, err, client.Declined, c.says, spent)
				return
			}
			check(t, err)
			if h.asked != 2 || p.account().Spent <= spent {
				t.Errorf("the plan was requested %d times", h.asked)
			}
		})
	}
}
