package client_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"fedpvi/client"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/wire"
)

// One of three clients makes every round fail, and the coordinator publishes plan after plan. The
// other clients must stop, and their logs must show the verdicts.
//
//abuse:case A20 a client that makes every round fail, while the coordinator asks on: the others stop after three rounds, exit code 7
func TestClientsStopAfterRejectedRounds(t *testing.T) {
	source := linestudy.Document(linestudy.Parts{Privacy: clientPrivacy, Inference: "rounds = 10", Federation: "max_rejected = 3"})
	h, all := federation(t, source, "north", "south", "west")
	h.poison = func(name identity.Name, payload []byte) []byte {
		r, err := wire.ReadRelease(payload, wire.Limits{Elements: 100, Clients: 10, Name: 40})
		if err != nil || name != "west" {
			return payload
		}
		for i := 2; i < len(r.Change); i++ {
			r.Change[i] = -1 << 27 // eight standard deviations of the noise
		}
		return wire.AppendRelease(nil, r)
	}
	var log bytes.Buffer
	all[0].log = slog.New(slog.NewTextHandler(&log, nil))
	h.begin()
	stopped := map[identity.Name]bool{}
	for range 40 {
		for _, p := range all {
			if stopped[p.name] {
				continue
			}
			if _, err := p.step(); err != nil {
				if client.CodeOf(err) != client.Fruitless || !strings.Contains(err.Error(), "3 rounds in a row") {
					t.Fatalf("%s: code %d: %v", p.name, client.CodeOf(err), err)
				}
				stopped[p.name] = true
			}
		}
	}
	for _, p := range all {
		if n := len(h.answersOf(p.name)); !stopped[p.name] || n != 3 {
			t.Errorf("%s: stopped %v after %d answers", p.name, stopped[p.name], n)
		}
		if _, err := p.step(); client.CodeOf(err) != client.Fruitless {
			t.Errorf("%s goes on when it is started again: %v", p.name, err)
		}
	}
	if n := strings.Count(log.String(), "a round was rejected"); n != 3 {
		t.Errorf("%d verdicts in the log:\n%s", n, log.String())
	}
	// The client that is excluded must stop, and the others must go on.
	h.say(transcript.Exclude, 0, h.server.Model(), transcript.Abortion{By: "west", Reason: "three rounds failed"}.Bytes())
	for _, p := range all {
		_, err := p.step()
		if p.name == "west" {
			if client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), "excluded this client from the rest of the study: three rounds failed") {
				t.Errorf("the excluded client: %v", err)
			}
			continue
		}
		check(t, err)
		if n := len(h.answersOf(p.name)); n != 4 {
			t.Errorf("%s has given %d answers after the exclusion", p.name, n)
		}
	}
	if !strings.Contains(log.String(), "three rounds failed") {
		t.Errorf("the exclusion is not in the log:\n%s", log.String())
	}
}

func (h *hub) answersOf(name identity.Name) (plans []uint64) {
	for key := range h.releases {
		if key.client == name {
			plans = append(plans, key.ask)
		}
	}
	return plans
}
