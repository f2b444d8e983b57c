package pvi

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wideProtocol returns the protocol of a linear model with one coefficient for each level of a
// column.
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
	return protocolFor(t, 3, text)
}

// A server that is restored at any time continues like one that never stopped, even if λ is longer
// than blockSize.
func TestWideServerIsRestoredAtAnyTime(t *testing.T) {
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

// playBoth runs a study on two servers, and restores one of them at random times.
func playBoth(rt *rapid.T, p *Protocol, verdicts map[Verdict]int) {
	steady, restored := NewServer(p), NewServer(p)
	same := func() []byte {
		state, err := steady.MarshalBinary()
		check(rt, err)
		again, err := restored.MarshalBinary()
		check(rt, err)
		if !bytes.Equal(state, again) {
			rt.Fatal("the two servers have different states")
		}
		return state
	}
	for !steady.Done() {
		if rapid.Bool().Draw(rt, "restore") {
			var err error
			restored, err = RestoreServer(p, same())
			check(rt, err)
		}
		if plan, ok := steady.Next(); ok {
			again, ok := restored.Next()
			if !ok || !reflect.DeepEqual(plan, again) {
				rt.Fatalf("the plan is %v, of the restored server %v", plan, again)
			}
			continue
		}
		number := rapid.SampledFrom(steady.Open()).Draw(rt, "plan")
		var want, got *Outcome
		var err, failed error
		if waiting := steady.WaitingFor(number); rapid.IntRange(0, 9).Draw(rt, "deadline") > 0 {
			r := &Release{Protocol: p.digest, Number: number, Client: rapid.SampledFrom(waiting).Draw(rt, "client"), Change: someChange(rt, p)}
			want, err = steady.Collect(r)
			got, failed = restored.Collect(r)
		} else {
			want, err = steady.Close(number)
			got, failed = restored.Close(number)
		}
		if err != nil || failed != nil {
			rt.Fatal(err, failed)
		}
		if !reflect.DeepEqual(want, got) {
			rt.Fatalf("the outcome is %v, of the restored server %v", want, got)
		}
		if want != nil {
			verdicts[want.Verdict]++
			same()
		}
	}
	if !slices.Equal(restored.Posterior(), steady.Posterior()) {
		rt.Fatal("the two servers have different posteriors")
	}
}

func someChange(rt *rapid.T, p *Protocol) []int64 {
	random := rapid.Uint64().Draw(rt, "change")
	// The elements of change are below 4 in absolute value, or below the limit for elements if that is
	// smaller. size is this bound in lattice steps.
	size := min(p.messages.Limit(), int64(4)<<p.messages.Lattice.Exponent())
	change := make([]int64, p.messages.Size)
	for i := range change {
		random = random*6364136223846793005 + 1442695040888963407
		change[i] = int64(random>>1) % size
		if i < len(change)/2 && random>>63 == 1 {
			change[i] = -change[i]
		}
	}
	if rapid.IntRange(0, 5).Draw(rt, "improper") == 0 {
		change[len(change)-1] = -p.messages.Limit()
	}
	return change
}
