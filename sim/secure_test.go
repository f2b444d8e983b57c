package sim

import (
	"context"
	"slices"
	"testing"

	"fedpvi/pvi"
)

// A study has the same posterior, to the bit, if its clients add up securely.
func TestSecureSumsChangeNothing(t *testing.T) {
	seconds := 0.0
	clock := func() float64 { seconds++; return seconds }
	for _, settings := range [][]string{
		{"federation.aggregation=secure", "federation.min_clients=8"},
		{"federation.aggregation=secure", "federation.min_clients=10"},
	} {
		settings = append(settings, "simulation.clients=10", "inference.rounds=5")
		play := func(secure bool) (*Play, []float64) {
			st, path := experiment(t, "linear/one-parameter.toml", settings...)
			p := newPlay(t, st, path, 1)
			if secure {
				if err := p.Federation.AddSecurely(clock); err != nil {
					t.Fatal(err)
				}
			}
			err := p.Federation.Run(context.Background(), func(*pvi.Outcome) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			return p, p.Posterior()
		}
		p, got := play(true)
		_, want := play(false)
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", settings, got, want)
		}
		if s := p.Federation.Secure(); s.Plans != 5 || !(s.Up > 0 && s.Down > s.Up/2 && s.Client > 0) {
			t.Errorf("%+v", s)
		}
	}
	st, path := experiment(t, "linear/one-parameter.toml")
	if err := newPlay(t, st, path, 1).Federation.AddSecurely(clock); err == nil {
		t.Error("a study whose coordinator adds up was added up securely")
	}
}
