package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

const extended = `
study = { version = 2, name = "line" }
model = { family = "linear", outcome = "y", terms = ["x"], noise_sd = 0.5, standardise = "none" }
%s
column = [
  { name = "x", type = "numeric", bounds = [-1, 1] },
  { name = "y", type = "numeric", bounds = [-9, 9] },
]
[federation]
nominal_records = 20
[simulation]
clients = 3
%s
[simulation.synthetic]
records_per_client = 20
`

const (
	ofNobody  = `privacy.unit = "none"`
	ofClients = "privacy = { unit = \"client\", epsilon = 50.0, delta = 1e-5 }\ninference = { solver = \"natural-gradient\", rounds = 3, intervals = \"none\" }"
	ofScores  = `privacy = { unit = "client", epsilon = 50.0, delta = 1e-5 }`
	ofRecords = `privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }`
)

func init() {
	for name, rows := range map[string][][]int{
		"twice": {{0, 1}, {1, 2}, {3}}, "outside": {{0}, {1}, {60}}, "two clients": {{0}, {1}}, "empty client": {{0}, {1}, {}},
	} {
		RegisterPartition(name, func(*shard.Records, int, uint64) ([][]int, error) { return rows, nil })
	}
	RegisterSolver("built-in", func(c Client) (solver.Solver, error) { return c.BuiltIn, nil })
	RegisterClip("nothing", func([]float64) {})
	RegisterClip("broken", func(change []float64) { change[0] = math.NaN() })
}

func playOf(t *testing.T, privacy, keys string) (*Result, error) {
	t.Helper()
	st, err := study.Parse("line.toml", []byte(fmt.Sprintf(extended, privacy, keys)))
	if err != nil {
		return nil, err
	}
	play, err := NewPlay(st, Options{Seed: 1})
	if err != nil {
		return nil, err
	}
	return play.Run(t.Context(), func(Status) error { return nil })
}

func TestExtensionsThatChangeNothing(t *testing.T) {
	for _, privacy := range []string{ofNobody, ofClients} {
		want, err := playOf(t, privacy, "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := playOf(t, privacy, `solver = "own:built-in"`)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(got.Notes, " ")
		if !strings.Contains(notes, "own:built-in belongs to the program") || strings.Contains(notes, "The promise does not depend") != (privacy == ofClients) {
			t.Errorf("%s: the notes are %q", privacy, notes)
		}
		if fmt.Sprint(got.Natural) != fmt.Sprint(want.Natural) {
			t.Errorf("%s: %v, not %v", privacy, got.Natural, want.Natural)
		}
	}
	want, _ := playOf(t, ofNobody, "")
	got, err := playOf(t, ofNobody, `clip = "own:nothing"`)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got.Natural {
		if math.Abs(x-want.Natural[i]) > 1e-6*math.Abs(want.Natural[i]) {
			t.Errorf("with a clip that does nothing, λ is %v, not %v", got.Natural, want.Natural)
		}
	}
}

func TestExtensionsAreChecked(t *testing.T) {
	for _, c := range []struct{ privacy, keys, want string }{
		{ofNobody, `partition = "own:twice"`, "row 1 does not exist, or belongs to two clients"},
		{ofNobody, `partition = "own:outside"`, "row 60 does not exist"},
		{ofNobody, `partition = "own:two clients"`, "the records of 2 clients, not 3"},
		{ofNobody, `partition = "own:empty client"`, "client-3 has none"},
		{ofNobody, `partition = "own:nobody"`, "this program has registered no such partition"},
		{ofNobody, `solver = "own:nobody"`, "this program has registered no such solver"},
		{ofNobody, `clip = "own:nobody"`, "this program has registered no such clip"},
		{ofNobody, `clip = "own:broken"`, "not finite"},
		{ofNobody, `solver = "own:"`, "write the name of the extension"},
		{ofNobody, `solver = "svi"`, "inference.solver"},
		{ofScores, `clip = "own:nothing"`, "write inference.solver"},
		{ofRecords, `solver = "own:built-in"`, "the solver itself must add the noise and state its cost"},
		{ofRecords, `clip = "own:nothing"`, `write privacy.unit = "client"`},
	} {
		if _, err := playOf(t, c.privacy, c.keys); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.keys, err, c.want)
		}
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a name was taken twice")
		}
	}()
	RegisterClip("nothing", func([]float64) {})
}
