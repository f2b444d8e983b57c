package sim

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// overdispersed is the log posterior density of overdispersed.stan, written by hand. It integrates
// out each patient's latent on a fine grid.
func overdispersed(all []patient) func(theta []float64) float64 {
	const step, points = .15, 81
	return func(theta []float64) float64 {
		z := (theta[3] + .5) / .5
		lp := -theta[0]*theta[0]/(2*1.5*1.5) - (theta[1]*theta[1]+theta[2]*theta[2])/(2*.5*.5) - z*z/2
		sigma := math.Exp(theta[3])
		for _, p := range all {
			eta := math.Log(p.years) + theta[0] + theta[1]*p.age + theta[2]*p.treated
			var sum float64
			for k := range points {
				u := step * float64(k-points/2)
				sum += math.Exp(p.infections*(eta+sigma*u) - math.Exp(eta+sigma*u) - u*u/2)
			}
			lp += math.Log(sum)
		}
		return lp
	}
}

// Without privacy, three clients must find the posterior of the pooled records. Its means must be
// close to the mode of a density written by hand.
func TestLatentsOfThreeClients(t *testing.T) {
	slow(t)
	const patients = 90
	source, err := os.ReadFile(filepath.Join("..", "experiments", "programs", "cohort.csv"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "some.csv")
	lines := strings.SplitAfter(string(source), "\n")
	writeFile(t, file, strings.Join(lines[:1+patients], ""))
	play := runProgram(t, "overdispersed", append(NonPrivate, "inference.rounds=20", fmt.Sprintf("simulation.data=[%q]", file))...)
	pooled, cov := checkPooled(t, play, .05)
	mode, sds := laplace(overdispersed(cohort(t)[:patients]), []float64{0, 0, 0, 0})
	if len(pooled) != len(mode) {
		t.Fatalf("%d coordinates: a latent is one of them", len(pooled))
	}
	checkMode(t, pooled, cov, mode, sds, .25, .1)
}
