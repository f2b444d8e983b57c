package scores

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/guard"
	"fedpvi/pvi/method"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const document = `
study = { version = 2, name = "held" }
table = { person = "who" }
privacy = { unit = "person", rows_per_person = 3, noise_multiplier = 3.0, delta = 1e-5 }
model = { family = "linear", outcome = "y", terms = ["x"], noise_sd = 1.0 }
inference = { rounds = 6 }
federation = { nominal_records = 500 }
compare = { held_out = 0.3, share = 0.25 }
[[column]]
name = "x"
type = "numeric"
bounds = [0, 10]
[[column]]
name = "y"
type = "numeric"
bounds = [-5, 5]
`

func newMethod(t *testing.T) *Method { return methodOf(t, document) }

func methodOf(t *testing.T, document string) *Method {
	t.Helper()
	st, err := study.Parse("held.toml", []byte(document))
	check(t, err)
	roster, err := phase.NewRoster(st, []phase.ClientID{"a", "b"})
	check(t, err)
	s, err := method.NewSetting(st, roster, phase.Digest{1})
	check(t, err)
	draft, err := New(s)
	check(t, err)
	m, err := draft(st.Privacy.NoiseMultiplier)
	check(t, err)
	return m.(*Method)
}

// people returns a shard with n people, who have one to three rows each.
func people(t *testing.T, st *study.Study, n int) *shard.Shard {
	t.Helper()
	var b strings.Builder
	b.WriteString("who,x,y\n")
	for i := range n {
		for k := range 1 + i%3 {
			fmt.Fprintf(&b, "p%d,%d,%d\n", i, (i+k)%11, (i*k)%11-5)
		}
	}
	records, _, err := shard.Read("r.csv", strings.NewReader(b.String()), st)
	check(t, err)
	return shard.Design(st, records)
}

func newHolding(t *testing.T, m *Method, persons int) *holding {
	t.Helper()
	c, err := m.NewClient(people(t, m.Study, persons))
	check(t, err)
	return c.(*holding)
}

// answer returns the release that h makes in a round, and moves walk as if two clients had sent
// this release.
func answer(t *testing.T, m *Method, h *holding, walk method.Walk, round int) []int64 {
	t.Helper()
	dst := make([]int64, m.Messages().Size)
	if drawn, err := h.Release(dst, &method.Task{Number: round, Walk: walk}, seeded.Stream(uint64(round), "noise")); err != nil || !drawn {
		t.Fatalf("round %d: drawn %t, %v", round, drawn, err)
	}
	sum := make([]int64, len(dst))
	for i, x := range dst {
		sum[i] = 2 * x
	}
	if move := walk.Step(round, 2, 0, sum, nil); move != nil {
		move.Commit()
	}
	return dst[:m.Mechanism(round).Dim()]
}

// A single coin, with the probability that the study gives, decides for all rows of a person. It
// stays the same in all rounds, even after a restart.
func TestCoinsAreDrawnOnce(t *testing.T) {
	const persons = 2000
	m := newMethod(t)
	h, walk := newHolding(t, m, persons), m.NewWalk()
	answer(t, m, h, walk, 1)
	first := slices.Clone(h.out)
	if len(first) != persons {
		t.Fatalf("%d coins for %d persons", len(first), persons)
	}
	held, row, rows := 0, 0, h.rows()
	for i, out := range first {
		if out {
			held++
		}
		for range 1 + i%3 { // one to three rows for this person
			if rows[row] != out {
				t.Fatalf("row %d of person %d: held out is %t, want %t", row, i, !out, out)
			}
			row++
		}
	}
	if share := float64(held) / persons; math.Abs(share-.3) > 4*math.Sqrt(.3*.7/persons) {
		t.Errorf("%g of the persons are held out, want .3", share)
	}
	for round := 2; round <= m.Releases(); round++ {
		if round == 4 {
			var saved method.Memory
			h.Save(&saved)
			check(t, h.Check(&saved, 3))
			h = newHolding(t, m, persons)
			check(t, h.Restore(&saved))
		}
		answer(t, m, h, walk, round)
		if !slices.Equal(h.out, first) {
			t.Fatalf("in round %d others are held out than in round 1", round)
		}
	}
	if spent := h.Spent(); spent.Statistics != m.Releases() {
		t.Errorf("%+v is spent for %d releases", spent, m.Releases())
	}
}

// If a client lost the coins of its records, it could score a record that was used in the fit.
func TestCoinsAreRestored(t *testing.T) {
	m := newMethod(t)
	h := newHolding(t, m, 20)
	answer(t, m, h, m.NewWalk(), 1)
	var saved method.Memory
	h.Save(&saved)
	for says, spoil := range map[string]func(m *method.Memory){
		"missing":                       func(m *method.Memory) { m.Parts = nil },
		"was made before":               func(m *method.Memory) { m.Spent = method.Spent{} },
		"cannot be read":                func(m *method.Memory) { m.Parts = json.RawMessage(`{"More":1}`) },
		"a different number of records": func(m *method.Memory) { m.Parts = json.RawMessage(`{"Units":19,"HeldOut":"AAAA"}`) },
		"records must stay":             func(m *method.Memory) { m.Parts = json.RawMessage(`{"Units":20,"HeldOut":"AAA="}`) },
	} {
		spoilt := saved
		spoil(&spoilt)
		if err := newHolding(t, m, 20).Restore(&spoilt); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	if err := newHolding(t, m, 21).Restore(&saved); err == nil {
		t.Error("coins of 20 persons were restored for 21")
	}
}

// Each release of a client without records is new noise. It is charged as a release that protects
// people with three rows.
func TestScoresAreChargedAndHidden(t *testing.T) {
	m := newMethod(t)
	h, walk := newHolding(t, m, 0), m.NewWalk()
	var noise [][]int64
	var squares float64
	for round := 1; round <= m.Releases(); round++ {
		noise = append(noise, answer(t, m, h, walk, round))
		var length float64
		for _, x := range noise[round-1] {
			length += float64(x) * float64(x)
		}
		mechanism := m.Mechanism(round)
		sd := math.Sqrt(length / float64(mechanism.Dim()))
		if ratio := sd / float64(mechanism.ShareSigma()); ratio < .2 || ratio > 2.5 {
			t.Errorf("round %d: the noise has sd %g times the one that is charged", round, ratio)
		}
		for before, other := range noise[:round-1] {
			for i := range min(len(other), mechanism.Dim()) {
				if other[i] == noise[round-1][i] {
					t.Errorf("element %d has the same noise in rounds %d and %d", i, before+1, round)
				}
			}
		}
	}
	all, err := m.Event(1, accountant.AddRemove, m.Releases())
	check(t, err)
	for _, e := range all.(accountant.Composed) {
		of := e.(accountant.DiscreteGaussian)
		squares += of.Sensitivity * of.Sensitivity / (of.Sigma * of.Sigma)
	}
	noiseSD, want := m.Mechanism(1).Lattice().Float(m.Mechanism(1).ShareSigma()), 0.
	for round := 1; round <= m.Releases(); round++ {
		moved := 3 * m.problem.Clip(round) / noiseSD // a person has at most three rows
		want += moved * moved
	}
	if len(all.(accountant.Composed)) != 6 || squares < want*(1-1e-6) || squares > want*1.001 {
		t.Errorf("%d releases are charged μ² = %g, want 6 and %g", len(all.(accountant.Composed)), squares, want)
	}
}

// In the last round, the noise must be drawn before a record is scored. Scoring the test's records
// panics, which package guard counts. A stream without a key panics when it is read.
func TestNoiseIsDrawnBeforeRecordsAreScored(t *testing.T) {
	m := methodOf(t, strings.NewReplacer(
		`terms = ["x"]`, `terms = ["x"], groups = ["1 | ward"]`, `table = { person = "who" }`, "",
		`unit = "person", rows_per_person = 3`, `unit = "record"`,
	).Replace(document)+"[[column]]\nname = \"ward\"\ntype = \"categorical\"\nlevels = [\"a\", \"b\"]\n")
	records := new(shard.Records)
	for range 50 {
		records.Append([]float64{1, 1, 99}) // no ward has this number
	}
	c, err := m.NewClient(shard.Design(m.Study, records))
	check(t, err)
	h, walk, last := c.(*holding), m.NewWalk(), m.Releases()
	for round := 1; round < last; round++ {
		answer(t, m, h, walk, round)
	}
	release := func(src *dpmech.Stream) {
		_, err = h.Release(make([]int64, m.Messages().Size), &method.Task{Number: last, Walk: walk}, src)
	}
	before := guard.Recovered.Load()
	src := seeded.Stream(1, "noise")
	src.Wipe()
	if guard.Run(func() { release(src) }) == nil {
		t.Fatal("a stream without a key was read")
	}
	if n := guard.Recovered.Load() - before - 1; n != 0 {
		t.Errorf("%d records were scored before the noise was drawn", n)
	}
	release(seeded.Stream(1, "noise"))
	check(t, err)
	if guard.Recovered.Load()-before < 3 {
		t.Error("scoring a record does not panic, so the test finds nothing")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
