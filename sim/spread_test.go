package sim

import (
	"math"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// Each client adds enough noise that even the sum of only U_min answers is protected against t
// colluders. If all M clients answer, the noise of the sum is therefore √((M − t)/(U_min − t))
// times as large as necessary. The estimate of this ratio has a standard error of at most .005, and
// the test allows 4 standard errors.
func TestSpreadOfOpenedSums(t *testing.T) {
	type study struct{ clients, fewest, colluders, rounds int }
	cases := []study{{10, 8, 2, 20}}
	if long() {
		cases = []study{{4, 3, 1, 200}, {10, 8, 2, 200}, {100, 80, 20, 200}}
	}
	for _, c := range cases {
		got := spreadOfSums(t, c.clients, c.fewest, c.colluders, c.rounds)
		want := math.Sqrt(float64(c.clients-c.colluders) / float64(c.fewest-c.colluders))
		t.Logf("%d of %d clients, %d colluders: the spread of %d sums is %.4f times the least one, expected %.4f", c.fewest, c.clients, c.colluders, c.rounds, got, want)
		if !(math.Abs(got/want-1) < 4*math.Sqrt(0.5/float64(1000*c.rounds))) {
			t.Errorf("%d of %d clients, %d colluders: the spread of the sums is %g times the least one, want %g", c.fewest, c.clients, c.colluders, got, want)
		}
	}
}

// spreadOfSums returns the sd of the noise in opened sums, relative to the smallest sd that
// protects the answers of all clients against the colluders. Every answer is a pure noise share.
func spreadOfSums(t *testing.T, clients, fewest, colluders, rounds int) float64 {
	t.Helper()
	const d, sigma = 1000, 5.0
	mechanism, err := dpmech.NewGaussianSum(dpmech.Config{
		Dim: d, Clip: 1, NoiseMultiplier: sigma, Shares: fewest - colluders, Terms: 1, Releases: clients, Adjacency: accountant.ZeroOut,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewAdder(clients, fewest, d, func() float64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	squares := 0.0
	for round := range rounds {
		vectors := make([][]int64, clients)
		for m := range vectors {
			vectors[m] = make([]int64, d)
			src := seeded.Stream(1, "spread of sums", uint64(round), uint64(m))
			err := mechanism.Release(vectors[m], make([]int64, d), src, func(func([]float64) error) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		sum, err := s.Add(vectors)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range sum {
			x := mechanism.Lattice().Float(n)
			squares += x * x
		}
	}
	least := sigma * math.Sqrt(float64(clients)/float64(clients-colluders))
	return math.Sqrt(squares/float64(rounds*d)) / least
}
