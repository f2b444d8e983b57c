package sim

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/accountant"
	"fedpvi/pvi/study"
)

// At a large ε, the posterior must be near the pooled fit without privacy. The cost to every
// observer must equal its closed form.
func TestClientsByNaturalGradient(t *testing.T) {
	const clients, fewest, colluders = 200, 150, 10
	private := regression(t, "logistic", 20, clients,
		`unit = "none"`, "unit = \"client\"\nepsilon = 3000.0\ndelta = 1e-5\nclip = 30", "rounds = 40", "rounds = 14\ndamping = 0.5",
		"max_records = 10000", "max_records = 10000\nmin_clients = 150\ncolluders = 10")
	if private.Inference.Solver != study.NaturalGradient || private.Federation.Opens != study.OpenSums {
		t.Fatalf("%s, %s", private.Inference.Solver, private.Federation.Opens)
	}
	play := prepare(t, private, Options{Seed: 3})
	r := run(t, play)
	if gap := largestGap(r); gap > 0.05 {
		t.Errorf("a mean or sd is off the pooled fit by a share of %.3f", gap)
	}
	for _, v := range r.Privacy.Views {
		shares := map[string]float64{"coalition": fewest - colluders, "participant": fewest - 1, "outside": fewest, "coordinator": 1}[v.View]
		want := v.Adjacency.Factor() * math.Sqrt(14) / r.Privacy.NoiseMultiplier * math.Sqrt((fewest-colluders)/shares)
		if math.Abs(v.Mu/want-1) > 1e-4 {
			t.Errorf("%s, %s: μ = %g, by the formula %g", v.View, v.Adjacency, v.Mu, want)
		}
	}
	if e := accountant.GaussianEpsilon(math.Sqrt(14)/r.Privacy.NoiseMultiplier, 1e-5); r.Privacy.Epsilon > 3000 || math.Abs(e/3000-1) > 1e-3 {
		t.Errorf("ε = %g, by the formula %g", r.Privacy.Epsilon, e)
	}
}

// The test opens only sums of gradients. With two hundred clients, the result must be close to the
// fit of all records without privacy. The bounds are about twice the gaps observed with several
// seeds.
func TestSummedAdult(t *testing.T) {
	slow(t)
	st, path := experiment(t, "adult/summed.toml")
	r := run(t, newPlay(t, st, path, 1))
	if r.Privacy.Epsilon > 0.5 || r.Privacy.Releases != 100 || r.Privacy.Opens != study.OpenSums {
		t.Errorf("ε = %g for %d releases", r.Privacy.Epsilon, r.Privacy.Releases)
	}
	checkNearPooled(t, r, 0.006, 0.012)
}

func BenchmarkSummedAdult(b *testing.B) {
	for _, clients := range []int{1, 200} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			st, path := experiment(b, "adult/summed.toml", fmt.Sprint("simulation.clients=", clients), fmt.Sprint("federation.nominal_records=", 40_000/clients))
			for b.Loop() {
				b.StopTimer()
				play := newPlay(b, st, path, 1)
				b.StartTimer()
				for o, err := play.Federation.Step(); o != nil; o, err = play.Federation.Step() {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
