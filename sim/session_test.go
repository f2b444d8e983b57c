package sim

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/internal/testing/noise"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

// A byteHouse runs a study with the state machines of package session, which exchange nothing but
// bytes. At random times, it saves and restores machines and delays answers.
type byteHouse struct {
	t       *testing.T
	study   *study.Study
	roster  []pvi.ClientID
	holders []Holder // holders in the order of the roster
	seed    uint64
	coin    *rand.Rand

	server *session.Server
	sites  []*session.Site
	said   []session.Entry
	asked  []int // number of plans that each client has received
	mail   [][]byte
	spent  []session.Spent // privacy cost of each answer that client 0 gave
}

// After each event, machines are restored with probability 1/rare.
const rare = 3

func newByteHouse(t *testing.T, st *study.Study, holders []Holder, seed uint64) *byteHouse {
	t.Helper()
	h := &byteHouse{t: t, study: st, holders: slices.Clone(holders), seed: seed, coin: rand.New(rand.NewPCG(seed, 7))}
	slices.SortFunc(h.holders, func(a, b Holder) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	for _, holder := range h.holders {
		h.roster = append(h.roster, holder.ID)
	}
	var err error
	if h.server, err = session.NewServer(st, h.roster); err != nil {
		t.Fatal(err)
	}
	for _, holder := range h.holders {
		site, err := session.NewSite(st, h.roster, holder.ID, holder.Records)
		if err != nil {
			t.Fatal(err)
		}
		h.sites = append(h.sites, site)
	}
	h.asked, h.mail = make([]int, len(h.sites)), make([][]byte, len(h.sites))
	return h
}

func (h *byteHouse) say(e session.Entry) {
	h.t.Helper()
	e.Body = slices.Clone(e.Body)
	h.said = append(h.said, e)
	for m := range h.sites {
		if err := h.sites[m].Follow(e); err != nil {
			h.t.Fatalf("client %d, %s of question %d: %v", m, e.Kind, e.Plan, err)
		}
		h.restoreSite(m)
	}
}

func (h *byteHouse) restoreSite(m int) {
	h.t.Helper()
	if h.coin.IntN(rare) > 0 {
		return
	}
	state, err := h.sites[m].MarshalBinary()
	if err != nil {
		h.t.Fatal(err)
	}
	holder := h.holders[m]
	if h.sites[m], err = session.RestoreSite(h.study, h.roster, holder.ID, holder.Records, state); err != nil {
		h.t.Fatal(err)
	}
	again, err := h.sites[m].MarshalBinary()
	if err != nil || !bytes.Equal(again, state) {
		h.t.Fatalf("the state of client %d is another when it was restored: %v", m, err)
	}
}

func (h *byteHouse) restoreServer() {
	h.t.Helper()
	if h.coin.IntN(rare) > 0 {
		return
	}
	state, err := h.server.MarshalBinary()
	if err != nil {
		h.t.Fatal(err)
	}
	if h.server, err = session.RestoreServer(h.study, h.roster, state); err != nil {
		h.t.Fatal(err)
	}
	again, err := h.server.MarshalBinary()
	if err != nil || !bytes.Equal(again, state) {
		h.t.Fatalf("the state of the server is another when it was restored: %v", err)
	}
}

func (h *byteHouse) answer(m int) {
	h.t.Helper()
	ask, _ := h.sites[m].Pending()
	a, err := h.sites[m].Answer(noise.Of(h.study, len(h.sites), h.seed, m, ask))
	if err != nil {
		h.t.Fatal(err)
	}
	if model, ok := h.server.ModelOf(ask); !ok || a.Model != model || a.Digest != h.server.Digest() || a.Plan != ask {
		h.t.Fatalf("the answer of client %d to plan %d names another state than the plan", m, ask)
	}
	if len(a.Release) > h.server.MaxRelease() {
		h.t.Errorf("a release has %d bytes, the longest %d", len(a.Release), h.server.MaxRelease())
	}
	if m == 0 {
		h.spent = append(h.spent, a.Spent)
	}
	h.mail[m] = a.Release
	h.restoreSite(m)
}

// play runs the study to its end. Answers arrive in the same order as in a [Federation].
func (h *byteHouse) play() {
	h.t.Helper()
	inTurn, clock := newPost(study.Synchronous, h.seed, 0), newPost(h.study.Inference.Schedule, h.seed, len(h.sites))
	for !h.server.Done() {
		post := inTurn
		for {
			e, ok := h.server.Next()
			if !ok {
				break
			}
			h.restoreServer()
			h.say(e)
			for m, site := range h.sites {
				if ask, ok := site.Pending(); ok && ask == e.Plan {
					h.asked[m] = ask
					if h.mail[m] = nil; h.coin.IntN(2) == 0 {
						h.answer(m)
					}
					if e.Kind == session.Plan {
						clock.send(m)
					} else {
						inTurn.send(m)
					}
				}
			}
		}
		if len(inTurn.onWay) == 0 {
			post = clock
		}
		m, ok := post.next()
		if !ok {
			h.t.Fatal("nothing is asked and the study is not done")
		}
		if h.mail[m] == nil {
			h.answer(m)
		}
		e, err := h.server.Collect(h.roster[m], h.asked[m], slices.Clone(h.mail[m]))
		if err != nil {
			h.t.Fatal(err)
		}
		h.restoreServer()
		if e != nil {
			h.say(*e)
		}
	}
}

func (h *byteHouse) bodies(kind session.Kind) (bodies [][]byte) {
	for _, e := range h.said {
		if e.Kind == kind {
			bodies = append(bodies, e.Body)
		}
	}
	return bodies
}

// same checks that a Federation and a byteHouse produce the same transcript for a study.
func same(t *testing.T, st *study.Study, path string) {
	t.Helper()
	const seed = 5
	c := castOf(t, st, path, seed)
	h := newByteHouse(t, st, c.holders, seed)
	h.play()

	f := federate(t, st, c.holders, seed, 1)
	said := h.bodies(session.Outcome)
	for n := 0; ; n++ {
		o, err := f.Step()
		if err != nil {
			t.Fatal(err)
		}
		if o == nil {
			break
		}
		if n >= len(said) || !bytes.Equal(wire.AppendOutcome(nil, o), said[n]) {
			t.Fatalf("outcome %d is another", n+1)
		}
	}
	if err := f.lastRound(); err != nil {
		t.Fatal(err)
	}
	if f.LastOutcome != nil && !bytes.Equal(wire.AppendOneStepOutcome(nil, f.LastOutcome), h.bodies(session.OneStepOutcome)[0]) {
		t.Error("the last outcome is another")
	}
	if f.Scale != nil {
		for n, o := range f.Scale.Outcomes {
			if !bytes.Equal(wire.AppendScaleOutcome(nil, o), h.bodies(session.ScaleOutcome)[n]) {
				t.Fatalf("the outcome of pass %d is another", n+1)
			}
		}
	}
	h.sameResult(f)
	h.charged(f.Protocol)
}

func (h *byteHouse) sameResult(f *Federation) {
	h.t.Helper()
	r, err := h.server.Result()
	if err != nil {
		h.t.Fatal(err)
	}
	if !slices.Equal(r.Natural, f.Server.Posterior()) || r.Accepted != f.Count(pvi.Accepted) || r.Outcomes != f.Server.Outcomes() {
		h.t.Error("the posterior is another")
	}
	want, err := r.Bytes()
	if err != nil {
		h.t.Fatal(err)
	}
	for m, site := range h.sites {
		r, err := site.Result()
		if err != nil {
			h.t.Fatal(err)
		}
		if got, err := r.Bytes(); err != nil || !bytes.Equal(got, want) {
			h.t.Errorf("client %d has another result: %v", m, err)
		}
	}
	noisy, err := f.noiseAware(f.Server.Posterior())
	if err != nil {
		h.t.Fatal(err)
	}
	if (noisy == nil) != (r.NoiseAware == nil) || noisy != nil && !slices.Equal(noisy.Mean, r.NoiseAware.Mean) {
		h.t.Error("the noise-aware posterior is another")
	}
}

// State machines that exchange bytes, and that are restored at random times, must give the same
// results as a federation in one process, bit for bit.
func TestSessionMatchesFederation(t *testing.T) {
	slow(t)
	// The cases give a noise multiplier. Otherwise each restored machine would calibrate the noise
	// again, which takes time.
	six := []string{"simulation.clients=6", "federation.min_clients=4", "federation.colluders=1", "privacy.epsilon=", "privacy.noise_multiplier=3"}
	scale := []string{"privacy.epsilon=", "privacy.noise_multiplier=3", "standardise.budget_share=", "standardise.noise_multiplier=8"}
	simulated := []string{"simulation.clients=3", "simulation.synthetic.records_per_client=400", "privacy.epsilon=", "privacy.noise_multiplier=2"}
	few := []string{"simulation.clients=5", "federation.min_clients=", "federation.colluders="}
	for _, c := range []struct {
		name, study string
		settings    []string
	}{
		{"clients", "abalone/rings.toml", slices.Concat(six, []string{"inference.rounds=4"})},
		{"clients, sequential", "abalone/rings.toml", slices.Concat(six, []string{"inference.rounds=3", "inference.schedule=sequential"})},
		{"no promise", "abalone/rings.toml", slices.Concat(NonPrivate, few, []string{"inference.rounds=3"})},
		{"no promise, asynchronous", "abalone/rings.toml", slices.Concat(NonPrivate, few, []string{"inference.schedule=asynchronous", "inference.rounds=4", "inference.damping=0.6"})},
		{"no promise, sequential", "abalone/rings.toml", slices.Concat(NonPrivate, few, []string{"inference.schedule=sequential", "inference.rounds=3"})},
		{"scale", "standardise/poor-bounds.toml", append(scale, "simulation.clients=3")},
		{"scale, asynchronous", "standardise/poor-bounds.toml", append(scale, "simulation.clients=3", "inference.schedule=asynchronous")},
		{"scale, parts", "standardise/poor-bounds.toml", append(scale, "simulation.clients=3", "inference.solver=conjugate", "inference.partitions=4", "federation.nominal_records=100")},
		{"scale of clients", "standardise/poor-bounds.toml", append(scale, "privacy.unit=client", "privacy.delta=1e-3", "simulation.clients=5", "federation.min_clients=4", "federation.colluders=1")},
		{"steps", "calibration/simulated.toml", append(simulated, "inference.steps=20", "inference.noise_aware=closed-form", "inference.sampling_rate=0.1")},
		{"one step", "calibration/simulated.toml", append(simulated, "inference.steps=20")},
		{"summed, one step", "calibration/simulated.toml", append(simulated, "federation.opens=sums", "inference.damping=", "inference.steps=", "inference.rounds=6")},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, path := experiment(t, c.study, c.settings...)
			newPlay(t, st, path, 1)
			same(t, st, path)
		})
	}
}
