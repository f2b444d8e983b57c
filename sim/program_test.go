package sim

import (
	"path/filepath"
	"testing"
)

// Three clients must find the posterior of the pooled records or, with privacy and a large budget,
// come close to it.
func TestProgramOfThreeClients(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		within   float64 // largest allowed distance of a mean from the pooled fit's mean, in sds of the pooled fit
	}{
		"none":   {NonPrivate, .05},
		"record": {[]string{"privacy.epsilon=500"}, 2.5},
	} {
		t.Run(name, func(t *testing.T) {
			settings := append([]string{
				`model.program="data { int N; vector[N] age; array[N] int<lower=0> visits; } transformed data { vector[N] x = (age - 50) / 20; } parameters { real a; real b; } model { a ~ normal(0, 1); b ~ normal(0, 1); visits ~ poisson_log(a + b * x); }"`,
				"model.data=",
			}, c.settings...)
			checkPooled(t, runProgram(t, "visits", settings...), c.within)
		})
	}
}

// A study with a program needs version 2 of the study language, and the program must state its
// priors. dp-sep cannot fit it. dp-svi needs a clip, and its intervals are not valid.
func TestSettingsOfPrograms(t *testing.T) {
	file := filepath.Join("..", "experiments", "programs", "visits.toml")
	for _, setting := range []string{"privacy.clip=1.0", "study.version=1", "prior={sd = 1.0}", `inference.solver="dp-svi"`, `inference.solver="dp-sep"`} {
		if _, err := LoadStudy(file, []string{setting}); err == nil {
			t.Errorf("%s is accepted", setting)
		}
	}
}
