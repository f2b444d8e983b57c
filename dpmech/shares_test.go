package dpmech_test

import (
	"math"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
)

func TestNoiseShares(t *testing.T) {
	shares := dpmech.NoiseShares{Clients: 20, MinClients: 16, Colluders: 4}
	cfg := ordinary
	cfg.Shares, cfg.Releases = 0, 0
	cfg, err := shares.Config(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := newSum(t, cfg)
	if cfg.Releases != 20 {
		t.Errorf("%d releases are added up", cfg.Releases)
	}
	// s² = σ²C²/(U_min − t)
	s, want := m.Lattice().Float(m.ShareSigma()), 5*2/math.Sqrt(16-4)
	if s < want || s > want*(1+0x1p-22) {
		t.Errorf("a share has sd %g, want %g", s, want)
	}
	// The coalition against the smallest sum is the promise, larger sums cost less.
	for survivors, unknown := range map[int]int{16: 12, 20: 16} {
		n, err := shares.Unknown(survivors)
		if err != nil || n != unknown {
			t.Errorf("%d survivors: %d unknown shares, %v, want %d", survivors, n, err, unknown)
		}
		if e := m.EventFor(n, cfg.Adjacency).(accountant.DiscreteGaussian); e.Shares != unknown {
			t.Errorf("%d survivors are accounted with %d shares", survivors, e.Shares)
		}
		if survivors == 16 && m.EventFor(n, cfg.Adjacency) != m.Event() {
			t.Errorf("the smallest sum costs %+v, the promise is %+v", m.EventFor(n, cfg.Adjacency), m.Event())
		}
	}
	for _, survivors := range []int{15, 21} {
		if _, err := shares.Unknown(survivors); err == nil {
			t.Errorf("a sum of %d is opened", survivors)
		}
	}
}

func TestNoiseSharesErrors(t *testing.T) {
	plain := dpmech.Config{Dim: 1, Clip: 1, NoiseMultiplier: 1, Terms: 1, Adjacency: accountant.ZeroOut}
	for want, s := range map[string]dpmech.NoiseShares{
		"number of clients must be at least 1":    {Clients: 0, MinClients: 1},
		"between 1 and the number of clients 5":   {Clients: 5, MinClients: 6},
		"between 1 and the number of clients 4":   {Clients: 4, MinClients: 0},
		"must not be negative":                    {Clients: 5, MinClients: 3, Colluders: -1},
		"at most 2 colluders, or at least 4 clie": {Clients: 5, MinClients: 3, Colluders: 3},
	} {
		if _, err := s.Config(plain); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", s, err, want)
		}
		if _, err := s.Unknown(5); err == nil {
			t.Errorf("%+v: shares are counted", s)
		}
	}
	good := dpmech.NoiseShares{Clients: 5, MinClients: 3, Colluders: 2}
	for _, cfg := range []dpmech.Config{{Shares: 1}, {Releases: 1}} {
		if _, err := good.Config(cfg); err == nil || !strings.Contains(err.Error(), "must be left out") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
