package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	runs  = flag.Int("runs", 0, "worlds to play; 0 are the few of an ordinary test")
	first = flag.Uint64("seed", 1, "of the first world; each has the next")
	keep  = flag.String("keep", "", "numbers of the faults to be kept of those that the seed draws, as in 0,3")
	quick = flag.Bool("quick", false, "no shrinking")
	until = flag.Bool("until", false, "stop at the first world that goes wrong, and say no more than which it is")
)

// few is the number of worlds in an ordinary test run. A world is a simulated study with its
// parties and faults.
const few = 24

// A house prepares the studies that worlds copy, simulates the worlds, and counts their
// events.
type house struct {
	t         *testing.T
	dir       string
	templates []*template
	played    int
	steps     int
	virtual   time.Duration
	befell    [kinds]int
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir, err := os.MkdirTemp(fastDir(), "chaos")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &house{t: t, dir: dir}
	for i, v := range variants {
		at := filepath.Join(dir, strconv.Itoa(i))
		check(t, os.Mkdir(at, 0o700))
		of, err := newTemplate(at, v)
		check(t, err)
		h.templates = append(h.templates, of)
	}
	return h
}

// fastDir returns a folder in memory, if the machine has one. The test simulates the disk, so it
// does not need a real one.
func fastDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// draw chooses the study, the maximum message delay and the faults for the world with the given
// seed. Half of the worlds have a study with secure sums.
func (h *house) draw(seed uint64) (*template, time.Duration, []fault) {
	rng := rand.New(rand.NewPCG(seed, 0xc4a05))
	some := h.templates[:secureFrom]
	if rng.IntN(2) == 0 {
		some = h.templates[secureFrom:]
	}
	of, pace := some[rng.IntN(len(some))], paces[rng.IntN(len(paces))]
	return of, pace, drawFaults(rng, of.clients, pace)
}

// play simulates the world with the given seed and faults. If told is true, it also keeps a log.
func (h *house) play(seed uint64, faults []fault, told bool) (a account) {
	of, pace, _ := h.draw(seed)
	h.played++
	dir := filepath.Join(h.dir, fmt.Sprintf("world-%d", h.played))
	defer os.RemoveAll(dir)
	h.t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { a = play(t, of, dir, seed, pace, faults, told) })
	return a
}

// shrink removes faults one by one, as long as the world with this seed still breaks a promise of
// the protocol.
func (h *house) shrink(seed uint64, faults []fault) []fault {
	for again := true; again; {
		again = false
		for i := range faults {
			fewer := slices.Delete(slices.Clone(faults), i, i+1)
			if h.play(seed, fewer, false).wrong != "" {
				faults, again = fewer, true
				break
			}
		}
	}
	return faults
}

// report describes how a world broke a promise of the protocol: it gives the promise, the faults, a
// command that repeats the simulation, and a log. Unless the flag -quick is set, it lists only the
// faults that remain after [house.shrink].
func (h *house) report(seed uint64, all []fault) string {
	faults := all
	if !*quick {
		faults = h.shrink(seed, all)
	}
	a := h.play(seed, faults, true)
	var b strings.Builder
	var kept []string
	of, _, drawn := h.draw(seed)
	for i, f := range drawn {
		if slices.Contains(faults, f) {
			kept = append(kept, strconv.Itoa(i))
			fmt.Fprintf(&b, "  fault %d: %v\n", i, f)
		}
	}
	head := fmt.Sprintf("%s\n  study %q, again with: make chaos RUNS=1 SEED=%d KEEP=%s\n", a.wrong, of.name, seed, strings.Join(append(kept, "none")[:max(1, len(kept))], ","))
	return head + b.String() + "  " + strings.Join(a.story, "\n  ")
}

// chosen returns the faults that the flag -keep selects.
func chosen(t *testing.T, faults []fault) []fault {
	if *keep == "" {
		return faults
	}
	var kept []fault
	for text := range strings.SplitSeq(*keep, ",") {
		if n, err := strconv.Atoi(text); err == nil && n < len(faults) {
			kept = append(kept, faults[n])
		} else if text != "none" {
			t.Fatalf("-keep: there is no fault %q", text)
		}
	}
	return kept
}

// If a promise is broken, the test prints the seed and the faults that break it.
func TestPromisesHoldInEveryWorld(t *testing.T) {
	n := *runs
	if n == 0 {
		n = few
		if testing.Short() {
			n = few / 6
		}
	}
	h := newHouse(t)
	began, wrong := time.Now(), 0
	for seed := *first; seed < *first+uint64(n); seed++ {
		_, _, faults := h.draw(seed)
		faults = chosen(t, faults)
		a := h.play(seed, faults, false)
		h.count(a, faults)
		if a.wrong != "" && *until {
			fmt.Printf("FOUND IN WORLD %d: %s\n", seed-*first+1, a.wrong)
			return
		}
		if a.wrong != "" {
			wrong++
			t.Errorf("seed %d: %s", seed, h.report(seed, faults))
		}
		if done := int(seed - *first + 1); *runs > 0 && (done%100 == 0 || done == n) {
			h.progress(done, n, wrong, time.Since(began))
		}
	}
}

func (h *house) count(a account, faults []fault) {
	h.steps += a.steps
	h.virtual += a.took
	for _, f := range faults {
		h.befell[f.Kind]++
	}
}

func (h *house) progress(done, n, wrong int, took time.Duration) {
	left := time.Duration(float64(took) / float64(done) * float64(n-done))
	fmt.Printf("%d of %d worlds, %d wrong, %d writes and syncs, %.0f days simulated, %.0f s, %.0f s left\n",
		done, n, wrong, h.steps, h.virtual.Hours()/24, took.Seconds(), left.Seconds())
	if done < n {
		return
	}
	for k, times := range h.befell {
		fmt.Printf("  %-26s %6d\n", kindNames[k], times)
	}
}

func TestWorldsAreReproducible(t *testing.T) {
	h := newHouse(t)
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		_, _, faults := h.draw(seed)
		one, two := h.play(seed, faults, true), h.play(seed, faults, true)
		if slices.Sort(one.story); len(one.story) == 0 || one.steps != two.steps {
			t.Errorf("seed %d: %d steps, and %d", seed, one.steps, two.steps)
		}
		if slices.Sort(two.story); !slices.Equal(one.story, two.story) {
			t.Errorf("seed %d has two stories:\n%s\n\n%s", seed, strings.Join(one.story, "\n"), strings.Join(two.story, "\n"))
		}
	}
}
