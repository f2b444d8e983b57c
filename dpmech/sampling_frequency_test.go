package dpmech_test

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// effort multiplies the number of draws in the tests of this file, for example with go test
// ./dpmech -effort 50.
var effort = flag.Int("effort", 1, "times the draws of the frequency tests of samplers")

var bothSelections = []dpmech.Selection{dpmech.Exact, dpmech.Feistel}

// long skips the test under -short. Tests under the race detector run with -short: these tests
// start no goroutines, so they cannot have races.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("computes for seconds in one thread: not under -short")
	}
}

// setOf returns a batch of records below 64 as a bit set.
func setOf(batch []uint32) (set uint64) {
	for _, i := range batch {
		set |= 1 << i
	}
	return set
}

// checkCells compares how often each cell occurred with the probabilities in law. It reports an
// error if a χ² test rejects the counts, or if a cell occurred whose probability is 0.
func checkCells(t *testing.T, what string, counts map[uint64]float64, law map[uint64]float64) {
	t.Helper()
	var draws float64
	for cell, count := range counts {
		if law[cell] == 0 {
			t.Errorf("%s: %b occurred, which is impossible", what, cell)
		}
		draws += count
	}
	var observed, expected []float64
	for cell, p := range law {
		if p*draws < 10 {
			t.Fatalf("%s: too few draws for cells of probability %g", what, p)
		}
		observed = append(observed, counts[cell])
		expected = append(expected, p*draws)
	}
	if len(law) < 2 {
		return
	}
	if p := chiSquare(observed, expected); p < rejectBelow {
		t.Errorf("%s: χ² rejects the law of whole batches, p = %.2g", what, p)
	}
}

// With few records, the test checks the probability of each possible pair of batches in two steps.
// Because it counts pairs, it also checks that steps are independent.
func TestWholeBatches(t *testing.T) {
	long(t)
	for _, selection := range bothSelections {
		for n := 1; n <= 4; n++ {
			for _, rate := range []float64{0.4, 0.65} {
				law := map[uint64]float64{}
				for set := range uint64(1) << n {
					in := float64(bits.OnesCount64(set))
					law[set] = math.Pow(rate, in) * math.Pow(1-rate, float64(n)-in)
				}
				checkTwoSteps(t, dpmech.Poisson{Rate: rate, Selection: selection}, n, law)
			}
		}
		for n := 1; n <= 5; n++ {
			for batch := range n + 1 {
				law := map[uint64]float64{}
				for set := range uint64(1) << n {
					if bits.OnesCount64(set) == batch {
						law[set] = 1
					}
				}
				for set := range law {
					law[set] = 1 / float64(len(law))
				}
				checkTwoSteps(t, dpmech.WithoutReplacement{Batch: batch, Selection: selection}, n, law)
			}
		}
	}
}

// checkTwoSteps checks that the batches of two steps are independent and that each has the
// distribution law. A batch is a set of the n records, as bits.
func checkTwoSteps(t *testing.T, sampling dpmech.Sampling, n int, law map[uint64]float64) {
	t.Helper()
	both := map[uint64]float64{}
	least := 1.0
	for a, p := range law {
		for b, q := range law {
			both[a|b<<32] = p * q
			least = min(least, p*q)
		}
	}
	sampler := newSampler(t, sampling, n)
	src := seeded.Stream(11, fmt.Sprintf("%#v", sampling), uint64(n))
	counts := map[uint64]float64{}
	var first, second [64]uint32
	for range int(max(5_000, 12/least)) * *effort {
		a := setOf(sampler.Next(first[:0], src))
		counts[a|setOf(sampler.Next(second[:0], src))<<32]++
	}
	checkCells(t, fmt.Sprintf("%#v of %d", sampling, n), counts, both)
}

// Each record is in the batches of some steps of an epoch. The set of these steps must be uniform,
// and independent between records and between epochs.
func TestAllocationLaw(t *testing.T) {
	for _, c := range []struct{ steps, picks int }{{2, 1}, {3, 1}, {4, 1}, {3, 2}, {4, 2}, {4, 3}, {5, 1}} {
		sampler := newSampler(t, dpmech.RandomAllocation{Steps: c.steps, Picks: c.picks}, 2)
		src := seeded.Stream(12, "allocation", uint64(c.steps), uint64(c.picks))
		epoch := func() (sets [2]uint64) {
			for step := range c.steps {
				for _, i := range sampler.Next(nil, src) {
					sets[i] |= 1 << step
				}
			}
			return sets
		}
		law, counts := map[uint64]float64{}, map[uint64]float64{}
		var sets []uint64
		for set := range uint64(1) << c.steps {
			if bits.OnesCount64(set) == c.picks {
				sets = append(sets, set)
			}
		}
		for _, a := range sets {
			for _, b := range sets {
				for _, next := range sets {
					law[a|b<<16|next<<32] = math.Pow(float64(len(sets)), -3)
				}
			}
		}
		for range 30_000 * *effort {
			now, next := epoch(), epoch()
			counts[now[0]|now[1]<<16|next[0]<<32]++
		}
		checkCells(t, fmt.Sprintf("%d picks of %d", c.picks, c.steps), counts, law)
	}
}

func TestPermutationLaw(t *testing.T) {
	const n = 4 // four records in four batches of one have 24 orders, and the test draws two epochs
	sampler := newSampler(t, dpmech.Permutation{Batches: n}, n)
	src := seeded.Stream(12, "permutation")
	law, counts := map[uint64]float64{}, map[uint64]float64{}
	order := func() (o uint64) {
		for step := range n {
			o |= uint64(sampler.Next(nil, src)[0]) << (4 * step)
		}
		return o
	}
	for a := range uint64(256) {
		digits := []uint64{a & 3, a >> 2 & 3, a >> 4 & 3, a >> 6}
		if o := digits[0] | digits[1]<<4 | digits[2]<<8 | digits[3]<<12; setOfDigits(digits) == 15 {
			law[o] = 1.0 / 24
		}
	}
	both := map[uint64]float64{}
	for a := range law {
		for b := range law {
			both[a|b<<32] = 1.0 / 576
		}
	}
	for range 30_000 * *effort {
		a := order()
		counts[a|order()<<32]++
	}
	checkCells(t, "permutation", counts, both)
}

func setOfDigits(digits []uint64) (set uint64) {
	for _, d := range digits {
		set |= 1 << d
	}
	return set
}

// frequencies counts, over many batches, how often each record occurs, and how often two records of
// a batch have a certain difference.
type frequencies struct {
	n       int
	records []float64 // number of occurrences of each record
	size    float64   // total size of all batches
	batches float64

	gaps, xors []float64 // histograms of the differences between two random records of each batch: modulo n (gaps) and bit by bit (xors)
	pairs      float64
}

func countFrequencies(sampler dpmech.Sampler, batches int, src *dpmech.Stream) frequencies {
	n := sampler.Records()
	f := frequencies{n: n, records: make([]float64, n), gaps: make([]float64, min(n, 512)), xors: make([]float64, 256)}
	choose := rand.New(rand.NewPCG(1, uint64(n)))
	width := max(0, bits.Len(uint(n-1))-8)
	var batch []uint32
	for range batches {
		batch = sampler.Next(batch[:0], src)
		f.batches++
		f.size += float64(len(batch))
		for _, i := range batch {
			f.records[i]++
		}
		if len(batch) < 2 {
			continue
		}
		// The two records are chosen at random: a sampler may return a sorted batch, in which
		// neighbours have small differences.
		i := choose.IntN(len(batch))
		j := (i + 1 + choose.IntN(len(batch)-1)) % len(batch)
		a, b := batch[i], batch[j]
		gap := (int(a) - int(b) + n) % n // a number from 1 to n−1; all are equally probable
		f.gaps[gap*len(f.gaps)/n]++
		f.xors[(a^b)>>width]++
		f.pairs++
	}
	return f
}

// inclusion returns the p-value of a χ² test that every record is in a batch with probability rate.
// In batches of a fixed size the counts are negatively correlated, which costs a degree of freedom.
func (f frequencies) inclusion(rate float64, fixed bool) float64 {
	var statistic float64
	for _, count := range f.records {
		d := count - f.batches*rate
		statistic += d * d / (f.batches * rate * (1 - rate))
	}
	freedom := float64(f.n)
	if fixed {
		freedom--
		statistic *= freedom / float64(f.n)
	}
	return distuv.ChiSquared{K: freedom}.Survival(statistic)
}

// gapsP returns the p-value of a χ² test of the differences between two records modulo n. All
// differences from 1 to n−1 must be equally probable.
func (f frequencies) gapsP() float64 {
	expected := make([]float64, len(f.gaps))
	for gap := 1; gap < f.n; gap++ {
		expected[gap*len(f.gaps)/f.n] += f.pairs / float64(f.n-1)
	}
	return chiSquare(f.gaps, expected)
}

func (f frequencies) xorsP() float64 {
	expected := make([]float64, len(f.xors))
	width := max(0, bits.Len(uint(f.n-1))-8)
	// cells counts the records that have the same leading bits. The product of two of these counts
	// is the number of pairs with one record from each cell.
	cells := make([]float64, len(f.xors))
	for i := range f.n {
		cells[i>>width]++
	}
	for a, x := range cells {
		for b, y := range cells {
			expected[a^b] += x * y
		}
	}
	expected[0] -= float64(f.n) // a record does not form a pair with itself
	for i := range expected {
		expected[i] *= f.pairs / (float64(f.n) * float64(f.n-1))
	}
	return chiSquare(f.xors, expected)
}

// The test checks how often records, and pairs of records, are in a batch. It computes about 500
// statistics, each of which rejects a correct sampler with probability 1e-5.
func TestInclusionAndPairs(t *testing.T) {
	long(t)
	for _, n := range []int{2, 3, 5, 8, 16, 17, 65, 127, 255, 256, 257, 512, 1000, 2000, 8191, 39_073, 40_000} {
		for _, c := range frequencyCases(n) {
			sampler := newSampler(t, c.sampling, n)
			what := fmt.Sprintf("%#v of %d", c.sampling, n)
			// Each record is expected to be in at least ten batches and absent from at least ten.
			batches := max(2000, int(10/(c.rate*(1-c.rate))))
			batches = min(batches, max(64, int(1e6/(c.rate*float64(n))))) * *effort
			f := countFrequencies(sampler, batches, seeded.Stream(13, what))
			if p := f.inclusion(c.rate, c.fixed); p < rejectBelow {
				t.Errorf("%s: χ² rejects the frequencies of records, p = %.2g", what, p)
			}
			if f.pairs < 1000 || n == 2 {
				continue
			}
			if p := f.gapsP(); p < rejectBelow {
				t.Errorf("%s: χ² rejects the gaps of pairs, p = %.2g", what, p)
			}
			if p := f.xorsP(); p < rejectBelow {
				t.Errorf("%s: χ² rejects the differences of pairs, p = %.2g", what, p)
			}
		}
	}
}

type frequencyCase struct {
	sampling dpmech.Sampling
	rate     float64
	fixed    bool // whether the batch of one step has a fixed size
}

// frequencyCases returns samplings of n records at small, medium and large rates.
func frequencyCases(n int) []frequencyCase {
	var cases []frequencyCase
	sizes := slices.Compact([]int{max(1, n/200), (n + 3) / 4, min(n-1, n-n/3)})
	for _, selection := range bothSelections {
		for _, size := range sizes {
			rate := float64(size) / float64(n)
			cases = append(
				cases,
				frequencyCase{dpmech.WithoutReplacement{Batch: size, Selection: selection}, rate, true},
				frequencyCase{dpmech.Poisson{Rate: rate, Selection: selection}, rate, false},
			)
		}
	}
	return cases
}

// The test checks the images of neighbouring numbers under the Feistel permutation, for many keys.
// It would reject a permutation with only four rounds.
func TestFeistelPairs(t *testing.T) {
	long(t)
	draws := 150_000 * *effort
	for _, n := range []int{3, 20, 64, 100, 256, 257, 500, 2000, 39_073} {
		sampler := newSampler(t, dpmech.WithoutReplacement{Batch: 2, Selection: dpmech.Feistel}, n)
		src := seeded.Stream(14, "feistel pairs", uint64(n))
		cells := min(n, 512)
		f := frequencies{n: n, gaps: make([]float64, cells), xors: make([]float64, 256), pairs: float64(draws)}
		first, expected := make([]float64, cells), make([]float64, cells)
		width := max(0, bits.Len(uint(n-1))-8)
		var batch [2]uint32
		for range draws {
			pair := sampler.Next(batch[:0], src)
			first[int(pair[0])*cells/n]++
			f.gaps[(int(pair[0])-int(pair[1])+n)%n*cells/n]++
			f.xors[(pair[0]^pair[1])>>width]++
		}
		for i := range n {
			expected[i*cells/n] += float64(draws) / float64(n)
		}
		for what, p := range map[string]float64{"first values": chiSquare(first, expected), "gaps": f.gapsP(), "differences": f.xorsP()} {
			if p < rejectBelow {
				t.Errorf("%d records: χ² rejects the %s, p = %.2g", n, what, p)
			}
		}
	}
}
