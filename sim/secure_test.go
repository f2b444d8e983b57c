package sim

import (
	"reflect"
	"slices"
	"testing"
)

func TestSecureSumsChangeNothing(t *testing.T) {
	seconds := 0.0
	clock := func() float64 { seconds++; return seconds }
	const rounds = "inference.rounds=5"
	for _, c := range []struct {
		file     string
		settings []string
		plans    int
	}{
		{"linear/one-parameter.toml", []string{rounds, "simulation.clients=10", "federation.min_clients=8"}, 5},
		{"linear/one-parameter.toml", []string{rounds, "simulation.clients=10", "federation.min_clients=10"}, 5},
		// Three passes of the scale phase precede the rounds, and a last round follows them.
		{"standardise/poor-bounds.toml", []string{
			"inference.rounds=2", "inference.solver=dp-svi", "inference.noise_aware=one-step", "simulation.clients=4", "federation.min_clients=3",
			"federation.colluders=1", "federation.opens=sums", "simulation.synthetic.records_per_client=20", "federation.nominal_records=20",
		}, 6},
	} {
		st, path := experiment(t, c.file, append(c.settings, "federation.aggregation=secure")...)
		play := func(secure func() float64) (*Play, []float64) {
			p := prepare(t, st, Options{StudyFile: path, Seed: 1, Secure: secure})
			finish(t, p.Federation)
			return p, p.Posterior()
		}
		p, got := play(clock)
		other, want := play(nil)
		if !slices.Equal(got, want) || !reflect.DeepEqual(p.Federation.Scale, other.Federation.Scale) || !reflect.DeepEqual(p.Federation.LastOutcome, other.Federation.LastOutcome) {
			t.Errorf("%s: %v, want %v", c.file, got, want)
		}
		if s := p.Federation.Secure(); s.Plans != c.plans || !(s.Up > 0 && s.Down > s.Up/2 && s.Client > 0) {
			t.Errorf("%s: %+v, want %d plans", c.file, s, c.plans)
		}
	}
	st, path := experiment(t, "linear/one-parameter.toml")
	if _, err := NewPlay(st, Options{StudyFile: path, Seed: 1, Secure: clock}); err == nil {
		t.Error("a study whose coordinator adds up was added up securely")
	}
}
