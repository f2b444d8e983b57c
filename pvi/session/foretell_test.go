package session

import (
	"bytes"
	"testing"

	"fedpvi/pvi/study"
)

// Foretell returns the plan that the server will send next, in every phase and even after a
// restart. It returns nil after the last plan. It also does so in an asynchronous study, in which
// plans depend on the order of answers.
func TestPlansAreForetold(t *testing.T) {
	for name, c := range map[string]struct {
		privacy, inference string
		overrides          []study.Override
		clients            int
		never              bool
	}{
		"records":      {recordPrivacy, "", nil, 3, false},
		"clients":      {clientPrivacy, "", nil, 3, false},
		"sequential":   {recordPrivacy, "schedule = \"sequential\"", nil, 3, false},
		"asynchronous": {recordPrivacy, "schedule = \"asynchronous\"", nil, 3, true},
		"scale first":  {clientPrivacy, "", scaledPrivately, 3, false},
		"steps":        {recordPrivacy, steps, nil, 2, false},
		"one step":     {recordPrivacy, steps + "\nnoise_aware = \"one-step\"", nil, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, planeStudy(t, c.privacy, c.inference, "", c.overrides...), c.clients)
			if Foretells(h.study) == c.never {
				t.Errorf("of a study whose plans are never foretold, %t, Foretells says %t", c.never, !c.never)
			}
			plans := 0
			for !h.server.Done() {
				foretold := h.sites[0].Foretell()
				restored := h.restored(0)
				if !bytes.Equal(restored.Foretell(), foretold) {
					t.Error("a site that goes on from its state foretells something else")
				}
				h.next()
				first := h.said[len(h.said)-1]
				if c.never != (foretold == nil) || !c.never && !bytes.Equal(foretold, first.Body) {
					t.Fatalf("plan %d: %d bytes are foretold, and the plan has %d", first.Plan, len(foretold), len(first.Body))
				}
				if h.sites[0].Foretell() != nil {
					t.Errorf("plan %d is open, and another one is foretold", first.Plan)
				}
				plans++
				for m, site := range h.sites {
					if _, asked := site.Pending(); !asked {
						continue
					}
					if plans == 2 && m == 1 && !c.never && len(h.sites) > 2 {
						continue // This client misses the second plan.
					}
					h.send(m)
				}
				for _, ask := range h.server.Open() {
					h.close(ask)
				}
			}
			if h.sites[0].Foretell() != nil {
				t.Error("a plan after the last is foretold")
			}
		})
	}
}
