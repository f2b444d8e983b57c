package pvi

import (
	"errors"
	"fmt"

	"fedpvi/dpmech"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// OnDevice returns why no device takes the private gradient steps of the study's clients,
// nil if one can. It depends on nothing private.
func (p *Protocol) OnDevice() error {
	in := p.study.Inference
	switch {
	case in.Solver != study.DPSVI:
		return fmt.Errorf("a device takes the steps of inference.solver = %q, not of %q", study.DPSVI, in.Solver)
	case p.Summed():
		return errors.New(`with federation.opens = "sums" steps are taken with all clients, one by one`)
	}
	if err := p.model.OnDevice(); err != nil {
		return err
	}
	// The solver says what else there is; it needs no records for that.
	site, err := p.NewSite(p.roster.Clients[0], shard.Design(p.study, new(shard.Records)))
	if err != nil {
		return nil // only of a study that needs records, which [Site.OnDevice] has
	}
	return site.OnDevice(shard.Design(p.study, new(shard.Records)), solver.Accelerator{})
}

// OnDevice has a device take the site's private gradient steps, of the records with
// which it was made. What the study costs is the same. Where the device cannot it says so,
// and nothing changes.
func (s *Site) OnDevice(records *shard.Shard, a solver.Accelerator) error {
	p := s.protocol
	descent, ok := s.solver.(*solver.DPSVI)
	if !ok {
		return errors.New("a device takes the private gradient steps of one solver of all of a client's records")
	}
	data, err := p.model.OnDeviceRecords(records, len(p.roster.Clients))
	if err != nil {
		return err
	}
	sampling := p.samplingFor(records.Len())
	switch batches := sampling.(type) {
	case dpmech.Poisson:
		batches.Selection = a.Selection
		sampling = batches
	case dpmech.WithoutReplacement:
		batches.Selection = a.Selection
		sampling = batches
	}
	m, err := p.sampledBy(sampling, records.Len(), p.sampled.NoiseMultiplier())
	if err != nil {
		return err
	}
	return descent.On(a, m, data)
}
