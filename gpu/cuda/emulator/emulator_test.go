//go:build emulator

package emulator

import (
	"bufio"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fedpvi/gpu/cuda/kernel"
)

var orders = []Order{Forward, Backward, Shuffled}

// shapes lists numbers of blocks, each with a number of threads per block. Most numbers of threads
// are not multiples of 32, the size of a warp.
var shapes = [][2]int{{1, 1}, {3, 2}, {2, 31}, {5, 32}, {1, 33}, {2, 97}, {1, 1023}, {2, 1024}}

// launch runs a kernel on the emulator. The kernel's arguments are the addresses of the output and
// of the inputs. launch returns the output, which has the given number of words.
func launch(t *testing.T, o Order, name string, shape [2]int, words int, inputs ...[]uint64) []uint64 {
	t.Helper()
	out, err := try(t, o, name, shape, words, inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func try(t *testing.T, o Order, name string, shape [2]int, words int, inputs ...[]uint64) ([]uint64, error) {
	t.Helper()
	d := &Device{Order: o}
	var arguments []uint64
	for _, in := range append([][]uint64{make([]uint64, words)}, inputs...) {
		p, err := d.Alloc(8 * len(in))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Free(p) })
		d.Write(p, in)
		arguments = append(arguments, p)
	}
	err := d.Launch(name, shape[0], shape[1], 8*shape[1], arguments...)
	out := make([]uint64, words)
	d.Read(out, arguments[0])
	return out, err
}

func sequence(n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i*i + 7)
	}
	return s
}

func TestThreadsShareMemoryBetweenBarriers(t *testing.T) {
	for _, shape := range shapes {
		in := sequence(shape[0] * shape[1])
		want := slices.Clone(in)
		for part := range slices.Chunk(want, shape[1]) {
			slices.Reverse(part)
		}
		for _, o := range orders {
			if got := launch(t, o, "probe_reverse", shape, len(in), in); !slices.Equal(got, want) {
				t.Errorf("%v blocks of threads, order %d: reversed to %d, want %d", shape, o, got, want)
			}
		}
	}
}

// The emulator must reveal a missing barrier: a kernel that lacks a necessary barrier must give
// different results when its threads run in different orders.
func TestAnOrderShowsAMissingBarrier(t *testing.T) {
	in := sequence(64)
	first := launch(t, Forward, "probe_reverse_racing", [2]int{1, 64}, 64, in)
	second := launch(t, Backward, "probe_reverse_racing", [2]int{1, 64}, 64, in)
	if slices.Equal(first, second) {
		t.Error("a kernel without its barrier has one result in two orders")
	}
}

// A kernel that lacks a barrier between two warps (groups of 32 threads) must give different
// results when its threads run in different orders.
func TestAnOrderShowsAnOvertakingWarp(t *testing.T) {
	var results [2][]uint64
	for i, o := range []Order{Forward, Backward} {
		d := &Device{Order: o}
		p, err := d.Alloc(8 * 96)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Free(p)
		if err := d.Launch("probe_overtaking", 1, 96, 8*96, p, 9); err != nil {
			t.Fatal(err)
		}
		results[i] = make([]uint64, 96)
		d.Read(results[i], p)
	}
	if slices.Equal(results[0], results[1]) {
		t.Error("a kernel without its barrier has one result in two orders")
	}
}

func TestManyBarriers(t *testing.T) {
	const rounds = 50
	for _, shape := range shapes {
		for _, o := range orders {
			d := &Device{Order: o}
			p, err := d.Alloc(8 * shape[0] * shape[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Launch("probe_ring", shape[0], shape[1], 8*shape[1], p, rounds); err != nil {
				t.Fatal(err)
			}
			got := make([]uint64, shape[0]*shape[1])
			d.Read(got, p)
			d.Free(p)
			for i, x := range got {
				if want := (i%shape[1] + rounds*(shape[1]-1)) % shape[1]; x != uint64(want) {
					t.Fatalf("%v, order %d: thread %d has %d, want %d", shape, o, i, x, want)
				}
			}
		}
	}
}

func TestWarps(t *testing.T) {
	for _, shape := range [][2]int{{1, 32}, {3, 64}, {1, 1024}} {
		n := shape[0] * shape[1]
		in := sequence(n)
		for _, o := range orders {
			sums := launch(t, o, "probe_warp", shape, n, make([]uint64, n), in)
			for i, sum := range sums {
				var want uint64
				for _, x := range in[i&^31 : i&^31+32] {
					want += x
				}
				if sum != want&(1<<32-1) {
					t.Errorf("%v, order %d: thread %d has the sum %d of its warp, want %d", shape, o, i, sum, want)
				}
			}
		}
	}
	d := &Device{}
	in := sequence(64)
	memory, err := d.Alloc(3 * 8 * 64)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Free(memory)
	d.Write(memory+2*8*64, in)
	if err := d.Launch("probe_warp", 2, 32, 0, memory, memory+8*64, memory+2*8*64); err != nil {
		t.Fatal(err)
	}
	odd := make([]uint64, 64)
	d.Read(odd, memory+8*64)
	for i, mask := range odd {
		for l, x := range in[i&^31 : i&^31+32] {
			if mask>>l&1 != x%2 || bits.Len64(mask) > 32 {
				t.Errorf("thread %d reads %#x of its warp, lane %d has %d", i, mask, l, x)
			}
		}
	}
}

func TestAtomicSums(t *testing.T) {
	for _, shape := range shapes {
		in := sequence(shape[0] * shape[1])
		in[0] = ^uint64(9) // −10 in two's complement
		var want uint64
		for _, x := range in {
			want += x
		}
		if got := launch(t, Shuffled, "probe_total", shape, 1, in); got[0] != want {
			t.Errorf("%v: the total is %d, want %d", shape, got[0], want)
		}
	}
}

func TestDeadlockIsAnError(t *testing.T) {
	for _, o := range orders {
		if _, err := try(t, o, "probe_stuck", [2]int{1, 5}, 5); err == nil || !strings.Contains(err.Error(), "wait") {
			t.Errorf("threads that wait for ever: %v", err)
		}
		launch(t, o, "probe_reverse", [2]int{1, 5}, 5, sequence(5)) // after the failure, a launch must work again
	}
	for _, shape := range [][2]int{{0, 1}, {1, 0}, {1, 1025}} {
		if _, err := try(t, Forward, "probe_garbage", shape, 1); err == nil {
			t.Errorf("%v blocks of threads run", shape)
		}
	}
	if _, err := try(t, Forward, "none", [2]int{1, 1}, 1); err == nil {
		t.Error("a kernel runs that does not exist")
	}
}

func TestWriteBeyondSharedMemoryIsAnError(t *testing.T) {
	d := &Device{}
	p, err := d.Alloc(8 * 64)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Free(p)
	if err := d.Launch("probe_ring", 1, 64, 8*63, p, 1); err == nil || !strings.Contains(err.Error(), "beyond") {
		t.Errorf("a word beyond shared memory: %v", err)
	}
}

// The test checks how the kernels divide a 128-bit number by a 63-bit number. Some of the numbers
// have long runs of equal bits, which make the first guess of a digit too large.
func TestDivision(t *testing.T) {
	var some []uint64
	for i := range 64 {
		some = append(some, 1<<i, 1<<i-1, -(uint64(1) << i), 1<<i|0xffffffff, 0x9e3779b97f4a7c15>>i)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func() uint64 { return some[rng.IntN(len(some))] }
	var in, want []uint64
	for range 20_000 {
		d := max(pick()>>1, 1)
		high, low := pick()%d, pick()
		quotient, rest := bits.Div64(high, low, d)
		in, want = append(in, high, low, d), append(want, quotient, rest)
	}
	got := launch(t, Forward, "probe_divide", [2]int{len(in) / 96, 32}, len(want), in)
	for i := 0; i < len(want); i += 2 {
		if got[i] != want[i] || got[i+1] != want[i+1] {
			t.Fatalf("(%#x·2^64 + %#x) / %#x is %#x, rest %#x; want %#x, rest %#x", in[i/2*3], in[i/2*3+1], in[i/2*3+2], got[i], got[i+1], want[i], want[i+1])
		}
	}
}

func TestSharedMemoryBeginsWithGarbage(t *testing.T) {
	for _, w := range launch(t, Forward, "probe_garbage", [2]int{2, 3}, 6) {
		if w != 0xa5a5a5a5a5a5a5a5 {
			t.Errorf("memory that was not written contains %#x", w)
		}
	}
}

// The emulator must have every kernel of the PTX.
func TestEmulatorHasAllKernels(t *testing.T) {
	var compiled, emulated []string
	lines := bufio.NewScanner(strings.NewReader(kernel.PTX))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), ".visible .entry "); ok {
			compiled = append(compiled, strings.TrimRight(name, "("))
		}
	}
	for _, name := range Kernels() {
		if !strings.HasPrefix(name, "probe_") {
			emulated = append(emulated, name)
		}
	}
	slices.Sort(compiled)
	slices.Sort(emulated)
	if len(compiled) == 0 || !slices.Equal(compiled, emulated) {
		t.Errorf("devices have %v, the emulator has %v", compiled, emulated)
	}
}
