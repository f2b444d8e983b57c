package pvi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/pvi/study"
)

// wideProtocol is of a linear model with a coefficient for each level of a column.
func wideProtocol(t testing.TB, levels int, privacy, inference string) *Protocol {
	t.Helper()
	var names strings.Builder
	for i := range levels {
		fmt.Fprintf(&names, "\"%d\", ", i)
	}
	text := fmt.Sprintf(`[study]
version = 1
name = "wide"
[[column]]
name = "a"
type = "categorical"
levels = [%s]
[[column]]
name = "y"
type = "numeric"
bounds = [-10, 10]
[model]
family = "linear"
outcome = "y"
terms = ["a"]
standardise = "none"
noise_sd = 0.5
[inference]
rounds = 5
q = "diagonal"
%s
[privacy]
%s
[federation]
max_records = 1000
min_clients = 2
`, &names, inference, privacy)
	st, err := study.Parse("wide.toml", []byte(text))
	check(t, err)
	p, err := NewProtocol(st, []ClientID{"east", "north", "south"})
	check(t, err)
	return p
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func stateOf(t *rapid.T, s *Server) []byte {
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sectionOf(b []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b)))
}

func gathered[T any](t *rapid.T, l List[T]) []T {
	list, err := gather(l)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A server at rest says and saves what one does that has everything in memory, whenever it is put to rest, woken, or
// restored, and whatever has happened since its state was written.
func TestAtRestAsInMemory(t *testing.T) {
	for _, c := range []struct {
		levels             int
		privacy, inference string
	}{
		{2*blockSize + 3, clientPrivacy, "damping = 0.5"},
		{blockSize - 1, clientPrivacy + "\ncoordinates = \"raw\"", "damping = 0.3"},
		{blockSize + 1, noPrivacy, "schedule = \"asynchronous\"\ndamping = 0.5"},
		{700, noPrivacy, "schedule = \"sequential\"\nfactors = \"exact\""},
		{20, clientPrivacy, "factors = \"exact\"\ndamping = 0.5"},
	} {
		p := wideProtocol(t, c.levels, c.privacy, c.inference)
		if !p.canRest() {
			t.Fatal("the study does not rest")
		}
		verdicts := map[Verdict]int{}
		t.Run(c.privacy+c.inference, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { playBoth(rt, p, verdicts) })
		})
		for _, v := range []Verdict{Accepted, Rejected} {
			if verdicts[v] == 0 {
				t.Errorf("no outcome was %s", v)
			}
		}
	}
}

func playBoth(rt *rapid.T, p *Protocol, verdicts map[Verdict]int) {
	memory, rests := NewServer(p), NewResting(p)
	same := func() []byte {
		state := stateOf(rt, memory)
		if !bytes.Equal(state, stateOf(rt, rests)) {
			rt.Fatal("another state")
		}
		if !slices.Equal(gathered(rt, rests.LambdaList()), memory.Lambda()) {
			rt.Fatal("another λ")
		}
		return state
	}
	var state []byte // in which it rests
	for !memory.Done() {
		switch rapid.IntRange(0, 5).Draw(rt, "what the server does") {
		case 0:
			if err := rests.Wake(); err != nil {
				rt.Fatal(err)
			}
			state = nil
		case 1, 2: // by far the most usual
			state = same()
			if err := rests.Rest(sectionOf(state)); err != nil {
				rt.Fatal(err)
			}
		case 3:
			state = same()
			var err error
			if rests, err = RestoreResting(p, sectionOf(state)); err != nil {
				rt.Fatal(err)
			}
		}
		if plan, ok := memory.NextBrief(); ok {
			again, ok := rests.NextBrief()
			if !ok || !reflect.DeepEqual(plan, again) {
				rt.Fatalf("plan %v, and at rest %v", plan, again)
			}
			if !slices.Equal(gathered(rt, memory.PlanCentre(plan.Number)), gathered(rt, rests.PlanCentre(plan.Number))) {
				rt.Fatal("another centre of a plan")
			}
			continue
		}
		number := rapid.SampledFrom(memory.Open()).Draw(rt, "plan")
		var want, got *Outcome
		var err, failed error
		if waiting := memory.WaitingFor(number); rapid.IntRange(0, 9).Draw(rt, "deadline") > 0 {
			r := &Release{Protocol: p.digest, Number: number, Client: rapid.SampledFrom(waiting).Draw(rt, "client"), Change: someChange(rt, p)}
			want, err = memory.Collect(r)
			got, failed = rests.Collect(r)
		} else {
			want, err = memory.Close(number)
			got, failed = rests.Close(number)
		}
		if err != nil || failed != nil {
			rt.Fatal(err, failed)
		}
		if want == nil {
			if got != nil {
				rt.Fatal("an outcome too many")
			}
			continue
		}
		verdicts[want.Verdict]++
		if got.Verdict != want.Verdict || got.Sequence != want.Sequence || got.Number != want.Number || !slices.Equal(got.Sum, want.Sum) ||
			!slices.Equal(got.Participants, want.Participants) || !slices.Equal(gathered(rt, rests.OutcomeCentre(got)), want.Centre) {
			rt.Fatalf("outcome %v, and at rest %v", want, got)
		}
		same()
	}
	if err := rests.Wake(); err != nil {
		rt.Fatal(err)
	}
	if !slices.Equal(rests.Lambda(), memory.Lambda()) || !slices.Equal(rests.Posterior(), memory.Posterior()) {
		rt.Fatal("another posterior")
	}
}

// someChange is one that moves every element, and now and then one that makes the posterior improper.
func someChange(rt *rapid.T, p *Protocol) []int64 {
	random := rapid.Uint64().Draw(rt, "change")
	size := min(p.limit, int64(4)<<p.lattice.Exponent()) // 4 in units of natural parameters
	change := make([]int64, p.messageSize())
	for i := range change {
		random = random*6364136223846793005 + 1442695040888963407
		change[i] = int64(random>>1) % size
		if i < len(change)/2 && random>>63 == 1 {
			change[i] = -change[i]
		}
	}
	if rapid.IntRange(0, 5).Draw(rt, "improper") == 0 {
		change[len(change)-1] = -p.limit
	}
	return change
}

// A state that cannot be read is no verdict: the server says so from then on.
func TestAStateThatCannotBeRead(t *testing.T) {
	p := wideProtocol(t, 700, clientPrivacy, "damping = 0.5")
	s := NewResting(p)
	plan, _ := s.NextBrief()
	state, err := s.MarshalBinary()
	check(t, err)
	for _, id := range plan.Participants[:2] {
		_, err := s.Collect(&Release{Protocol: p.digest, Number: 1, Client: id, Change: make([]int64, p.messageSize())})
		check(t, err)
	}
	check(t, s.Rest(io.NewSectionReader(&short{bytes.NewReader(state), int64(len(state)) / 4}, 0, int64(len(state)))))
	if o, err := s.Close(1); o != nil || !errors.Is(err, ErrState) {
		t.Errorf("%v, %v, want no outcome and %v", o, err, ErrState)
	}
	if _, err := s.MarshalBinary(); !errors.Is(err, ErrState) {
		t.Errorf("%v, want %v", err, ErrState)
	}
	if err := s.Wake(); !errors.Is(err, ErrState) {
		t.Errorf("%v, want %v", err, ErrState)
	}
	if _, err := RestoreResting(p, io.NewSectionReader(&short{bytes.NewReader(state), int64(len(state)) / 4}, 0, int64(len(state)))); err == nil {
		t.Error("a server was restored from a state that cannot be read")
	}
	if _, err := RestoreResting(p, sectionOf(state)); err != nil {
		t.Error(err)
	}
	if err := s.Rest(sectionOf(state[:len(state)-1])); err == nil {
		t.Error("a server rests in a state of something else")
	}
}

// A λ that is neither proper nor, by more than rounding, not, as of a state of another machine, stays in memory until it
// moves. One that is read so while a server rests is damage.
func TestALambdaAtTheEdge(t *testing.T) {
	p := wideProtocol(t, 20, clientPrivacy, "factors = \"exact\"\ndamping = 0.5")
	s := NewServer(p)
	good, err := s.MarshalBinary()
	check(t, err)
	none := p.family.Size() - 1                  // whose precision is zero
	lattice := -int64(math.Ldexp(1, p.exponent)) // the prior's is one
	edge := slices.Clone(good)
	binary.LittleEndian.PutUint64(edge[len(edge)-wideSize:], uint64(lattice))
	binary.LittleEndian.PutUint64(edge[len(edge)-numberSize:], uint64(lattice>>63))
	memory, err := RestoreServer(p, edge)
	check(t, err)
	if zero := p.priorAt(none) + memory.Lambda()[none].Float(p.exponent); zero != 0 {
		t.Fatalf("the precision is %v", zero)
	}
	rests, err := RestoreResting(p, sectionOf(edge))
	check(t, err)
	check(t, rests.Rest(sectionOf(edge)))
	want, _ := memory.Next()
	got, _ := rests.NextBrief()
	centre, err := gather(rests.PlanCentre(got.Number))
	check(t, err)
	if rests.Rests() || !slices.Equal(centre, want.Centre) {
		t.Errorf("centre %v, in memory %v", centre, want.Centre)
	}
	change := make([]int64, p.messageSize())
	change[none] = p.limit
	for _, id := range want.Participants {
		_, err := rests.Collect(&Release{Protocol: p.digest, Number: 1, Client: id, Change: change})
		check(t, err)
	}
	moved, err := rests.MarshalBinary()
	check(t, err)
	if check(t, rests.Rest(sectionOf(moved))); !rests.Rests() {
		t.Error("a λ that has moved from the edge is still in memory")
	}

	damaged := NewResting(p)
	check(t, damaged.Rest(sectionOf(edge)))
	plan, _ := damaged.NextBrief()
	if _, err := gather(damaged.PlanCentre(plan.Number)); !errors.Is(err, ErrState) {
		t.Errorf("%v, want %v", err, ErrState)
	}
}

// short reads no further than a limit.
type short struct {
	io.ReaderAt
	limit int64
}

func (s *short) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > s.limit {
		return 0, errors.New("the disk is broken")
	}
	return s.ReaderAt.ReadAt(b, off)
}

// A state, of anybody's making, is restored to a server at rest if it is to one in memory, and to the same.
func FuzzRestoreResting(f *testing.F) {
	p := wideProtocol(f, 3, clientPrivacy, "damping = 0.5")
	s := NewServer(p)
	for n := range 2 {
		s.Next()
		for m, id := range p.roster[n:] {
			state, err := s.MarshalBinary()
			check(f, err)
			f.Add(state)
			f.Add(state[:len(state)-1])
			change := make([]int64, p.messageSize())
			change[m], change[len(change)-1] = 1<<20, 1<<40
			_, err = s.Collect(&Release{Protocol: p.digest, Number: n + 1, Client: id, Change: change})
			check(f, err)
		}
	}
	f.Add([]byte(`{"Version":1}`))
	f.Fuzz(func(t *testing.T, state []byte) {
		memory, err := RestoreServer(p, state)
		rests, failed := RestoreResting(p, sectionOf(state))
		if (err == nil) != (failed == nil) {
			t.Fatalf("in memory %v, at rest %v", err, failed)
		}
		if err != nil {
			return
		}
		for range 2 {
			want, err := memory.MarshalBinary()
			check(t, err)
			got, err := rests.MarshalBinary()
			check(t, err)
			if !bytes.Equal(want, got) {
				t.Fatal("another state")
			}
			for _, n := range memory.Open() {
				_, err := memory.Close(n)
				check(t, err)
				_, err = rests.Close(n)
				check(t, err)
			}
		}
	})
}
