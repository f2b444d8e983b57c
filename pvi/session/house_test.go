package session

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// The tests build their study files from these parts.
const (
	noPrivacy     = linestudy.NoPrivacy
	recordPrivacy = "unit = \"record\"\nnoise_multiplier = 0.5\ndelta = 1e-5"
	clientPrivacy = "unit = \"client\"\nnoise_multiplier = 0.05\ndelta = 1e-5\nclip = 60"
	steps         = "solver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 4\nsampling_rate = 0.5"
)

func planeStudy(t testing.TB, privacy, inference, federation string, overrides ...study.Override) *study.Study {
	t.Helper()
	source := linestudy.Document(linestudy.Parts{Privacy: privacy, Inference: "rounds = 3\n" + inference, Federation: federation})
	st, err := study.Parse("plane.toml", source, overrides...)
	check(t, err)
	return st
}

// scaled adds a scale phase without noise to a study. scaledPrivately adds one with noise.
var (
	scaled          = []study.Override{{Key: "model.standardise", Value: `"private"`}}
	scaledPrivately = append(slices.Clip(scaled), study.Override{Key: "standardise.noise_multiplier", Value: "1.0"})
)

func planeRecords(m, n int) *shard.Records {
	records := new(shard.Records)
	for i := range n {
		x := float64((i+m)%7)/3.5 - 1
		records.Append([]float64{x, 2*x - 1 + float64(i%3-1)/4})
	}
	return records
}

// A house holds the server and all sites of a study. They exchange messages in memory.
type house struct {
	t       testing.TB
	study   *study.Study
	roster  []pvi.ClientID
	records []*shard.Records
	server  *Server
	sites   []*Site
	said    []Entry
}

func newHouse(t testing.TB, st *study.Study, clients int) *house {
	t.Helper()
	h := &house{t: t, study: st}
	for m := range clients {
		h.roster = append(h.roster, pvi.ClientID(fmt.Sprintf("c%02d", m)))
		h.records = append(h.records, planeRecords(m, 40+m))
	}
	var err error
	h.server, err = NewServer(st, h.roster)
	check(t, err)
	for m := range clients {
		h.sites = append(h.sites, h.newSite(m))
	}
	return h
}

func (h *house) newSite(m int) *Site {
	h.t.Helper()
	site, err := NewSite(h.study, h.roster, h.roster[m], h.records[m])
	check(h.t, err)
	return site
}

// next publishes and delivers all plans that are ready, and returns the last of them.
func (h *house) next() Entry {
	h.t.Helper()
	from := len(h.said)
	for {
		e, ok := h.server.Next()
		if !ok {
			break
		}
		h.say(&e)
	}
	if from == len(h.said) {
		h.t.Fatal("there is no plan")
	}
	return h.said[len(h.said)-1]
}

func (h *house) say(e *Entry) {
	h.t.Helper()
	h.said = append(h.said, *e)
	for m, site := range h.sites {
		if site == nil {
			continue
		}
		if err := site.Follow(*e); err != nil {
			h.t.Fatalf("client %d: %v", m, err)
		}
	}
}

func (h *house) answer(m int) Answer {
	h.t.Helper()
	ask, _ := h.sites[m].Pending()
	a, err := h.sites[m].Answer(seeded.Stream(1, "stage", uint64(m), uint64(ask)))
	check(h.t, err)
	return a
}

// send passes client m's answer to the server. If this leads to an outcome, it passes that to all
// sites.
func (h *house) send(m int) Answer {
	h.t.Helper()
	a := h.answer(m)
	e, err := h.server.Collect(h.roster[m], a.Plan, a.Release)
	check(h.t, err)
	if e != nil {
		h.say(e)
	}
	return a
}

func (h *house) close(ask int) {
	h.t.Helper()
	e, err := h.server.Close(ask)
	check(h.t, err)
	h.say(e)
}

// round lets all clients with a pending plan answer, one after the other, until no plan is pending.
func (h *house) round() (answers []Answer) {
	h.t.Helper()
	h.next()
	for m, site := range h.sites {
		if _, ok := site.Pending(); ok {
			answers = append(answers, h.send(m))
		}
	}
	return answers
}

func (h *house) finish() {
	h.t.Helper()
	for !h.server.Done() {
		h.round()
	}
}

// restored returns a copy of client m's site that was restored from its state.
func (h *house) restored(m int) *Site {
	h.t.Helper()
	site, err := RestoreSite(h.study, h.roster, h.roster[m], h.records[m], state(h.t, h.sites[m]))
	check(h.t, err)
	return site
}

func state(t testing.TB, m encoding.BinaryMarshaler) []byte {
	t.Helper()
	b, err := m.MarshalBinary()
	check(t, err)
	return b
}

// refused fails the test unless try returns [pvi.Refused] and m is still in the same state.
func refused(t *testing.T, what, why string, m encoding.BinaryMarshaler, try func() error) {
	t.Helper()
	before := state(t, m)
	err := try()
	var r *pvi.Refused
	if !errors.As(err, &r) || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %v, want a refusal with %q", what, err, why)
	}
	if !bytes.Equal(before, state(t, m)) {
		t.Errorf("%s: refused, and the state is another", what)
	}
}

func flipped(b []byte, i int) []byte {
	b = slices.Clone(b)
	b[i] ^= 1
	return b
}

func (s *sections) marshal() []byte {
	b := []byte{stateVersion}
	for _, part := range s {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return b
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
