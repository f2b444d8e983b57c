package dpmech

import (
	"errors"
	"fmt"
)

// NoiseShares spreads the noise of a sum over the clients that add to it: each
// adds a share of variance s² = σ²C²/(MinClients − Colluders). Whoever sees the
// sum of U ≥ MinClients clients faces U shares; Colluders of them who pool what
// they know face U − Colluders ≥ MinClients − Colluders, which reach the noise
// multiplier σ. Whoever sees one client's message faces one share.
type NoiseShares struct {
	Clients    int // most clients in a sum
	MinClients int // U_min: fewest clients whose sum is opened
	Colluders  int // t: most clients that may pool their noise, and not the one that is protected
}

func (s NoiseShares) check() error {
	switch {
	case s.Clients < 1:
		return fmt.Errorf("number of clients must be at least 1, got %d", s.Clients)
	case s.MinClients < 1 || s.MinClients > s.Clients:
		return fmt.Errorf("fewest clients of a sum must be between 1 and the number of clients %d, got %d", s.Clients, s.MinClients)
	case s.Colluders < 0:
		return fmt.Errorf("number of colluders must not be negative, got %d", s.Colluders)
	case s.Colluders >= s.MinClients:
		return fmt.Errorf("with %d colluders a sum of %d clients may hold no honest noise: at most %d colluders, or at least %d clients to a sum", s.Colluders, s.MinClients, s.MinClients-1, s.Colluders+1)
	}
	return nil
}

// Config returns the Config of one client's mechanism: cfg with Shares =
// MinClients − Colluders and Releases = Clients, which must be zero in cfg.
func (s NoiseShares) Config(cfg Config) (Config, error) {
	if err := s.check(); err != nil {
		return Config{}, fmt.Errorf("noise shares: %w", err)
	}
	if cfg.Shares != 0 || cfg.Releases != 0 {
		return Config{}, errors.New("noise shares: shares and releases follow from the clients and must be left out")
	}
	cfg.Shares, cfg.Releases = s.MinClients-s.Colluders, s.Clients
	return cfg, nil
}

// Unknown returns the number of shares that hide a client in the sum of
// survivors clients from Colluders of them: the argument of
// [GaussianSum.EventFor]. A sum of fewer than MinClients must not be opened.
func (s NoiseShares) Unknown(survivors int) (int, error) {
	if err := s.check(); err != nil {
		return 0, fmt.Errorf("noise shares: %w", err)
	}
	if survivors < s.MinClients || survivors > s.Clients {
		return 0, fmt.Errorf("noise shares: a sum is opened for %d to %d clients, not for %d", s.MinClients, s.Clients, survivors)
	}
	return survivors - s.Colluders, nil
}
