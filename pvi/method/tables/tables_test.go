package tables_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/describe"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/tables"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const document = `
study = { version = 2, name = "alone" }
privacy = { unit = "record", noise_multiplier = 3.0, delta = 1e-5, adjacency = "ADJACENCY" }
describe = { by = "g", bins = 5 }
[[column]]
name = "x"
type = "numeric"
bounds = [0, 10]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
`

func newMethod(t *testing.T, adjacency accountant.Adjacency) (*study.Study, *tables.Method) {
	t.Helper()
	st, err := study.Parse("alone.toml", []byte(document), study.Override{Key: "privacy.adjacency", Value: string(adjacency)})
	check(t, err)
	roster, err := phase.NewRoster(st, []phase.ClientID{"a", "b"})
	check(t, err)
	s, err := method.NewSetting(st, roster, phase.Digest{1})
	check(t, err)
	draft, err := tables.New(s)
	check(t, err)
	m, err := draft(st.Privacy.NoiseMultiplier)
	check(t, err)
	return st, m.(*tables.Method)
}

// released returns the release of a client with the given rows. The noise is always the same.
func released(t *testing.T, st *study.Study, m *tables.Method, rows [][]float64) []float64 {
	t.Helper()
	records := new(shard.Records)
	for _, row := range rows {
		records.Append(row)
	}
	c, err := m.NewClient(shard.Design(st, records))
	check(t, err)
	dst := make([]int64, m.Messages().Size)
	if drawn, err := c.Release(dst, &method.Task{Number: 1}, seeded.Stream(10004, "noise")); err != nil || !drawn {
		t.Fatalf("drawn %v: %v", drawn, err)
	}
	if c.Spent() != (method.Spent{Statistics: 1}) {
		t.Fatalf("the release counts as %+v", c.Spent())
	}
	out := make([]float64, len(dst))
	for i, x := range dst {
		out[i] = m.Messages().Lattice.Step() * float64(x)
	}
	return out
}

// Leaving out a record changes a release by the record's vector, up to rounding. The ratio of
// sensitivity to noise that is charged must be at least as large as for the longest vector.
func TestTablesOfNeighbours(t *testing.T) {
	st, m := newMethod(t, accountant.AddRemove)
	layout := describe.New(st)
	r := rand.New(rand.NewPCG(4, 6))
	rows := [][]float64{{0, 0, 0}, {10, 2, 1}}
	for range 8 {
		rows = append(rows, []float64{10 * r.Float64(), float64(r.IntN(3)), float64(r.IntN(2))})
	}
	all := released(t, st, m, rows)
	want := make([]float64, layout.Size())
	for j := range rows {
		rest := released(t, st, m, slices.Delete(slices.Clone(rows), j, j+1))
		layout.Vector(want, []float64{rows[j][0], rows[j][2], rows[j][1]}) // the column that splits the tables comes last
		got := slices.Clone(all)
		floats.Sub(got, rest)
		if !floats.EqualApprox(got, want, 1e-4) {
			t.Errorf("record %d: the releases differ by %v, want %v", j+1, got, want)
		}
	}
	// The standard deviation of the noise is estimated from releases without records.
	noise := released(t, st, m, nil)
	sd := math.Sqrt(floats.Dot(noise, noise) / float64(len(noise)))
	charged := st.Privacy.NoiseMultiplier * layout.Norm()
	if n := float64(len(noise)); math.Abs(sd/charged-1) > 4/math.Sqrt(2*n) {
		t.Errorf("the noise has sd %g over %g numbers, want %g", sd, n, charged)
	}
	event, err := m.Event(1, accountant.AddRemove, 1)
	check(t, err)
	one := event.(accountant.Repeated)
	if e := one.Event.(accountant.DiscreteGaussian); one.Times != 1 || e.Sensitivity/e.Sigma < 1/st.Privacy.NoiseMultiplier*(1-1e-6) {
		t.Errorf("the release is charged as %+v", event)
	}
}

// Under replace-one adjacency, a row with a value out of bounds adds nothing.
func TestRowThatIsLeftOut(t *testing.T) {
	st, m := newMethod(t, accountant.ReplaceOne)
	records, _, err := shard.Read("r.csv", strings.NewReader("x,g,y\n1,a,no\n999,a,no\n"), st)
	check(t, err)
	one := new(shard.Records)
	one.Append([]float64{1, 0, 0})
	var releases [2][]int64
	for i, of := range []*shard.Records{records, one} {
		c, err := m.NewClient(shard.Design(st, of))
		check(t, err)
		releases[i] = make([]int64, m.Messages().Size)
		_, err = c.Release(releases[i], &method.Task{Number: 1}, seeded.Stream(10005, "noise"))
		check(t, err)
	}
	if !slices.Equal(releases[0], releases[1]) {
		t.Error("a row that is left out changes the release")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
