package descent

import (
	"errors"

	"fedpvi/dpmech"
	"fedpvi/pvi/method/steps"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

type client struct {
	*steps.Client
	method *Method
}

// OnDevice implements [method.Device].
func (m *Method) OnDevice() error {
	if err := m.Model.OnDevice(); err != nil {
		return err
	}
	if m.Study.Privacy.Unit == study.Person {
		return errors.New("a device clips the gradient of each row, and the study clips the sum over the rows of a person")
	}
	// The shard used here has no records. Checks that need records are made by the client's OnDevice.
	none := shard.Design(m.Study, new(shard.Records))
	if m.CheckShard(none) != nil {
		// This can be checked only with records, by the client's OnDevice.
		return nil
	}
	refine, err := m.NewSolver(none)
	if err != nil {
		return nil // The client's OnDevice checks this.
	}
	c := &client{steps.NewClient(m, m.Base, refine), m}
	return c.OnDevice(none, solver.Accelerator{})
}

func (c *client) OnDevice(records *shard.Shard, a solver.Accelerator) error {
	m := c.method
	descent, ok := c.Solver.(*solver.DPSVI)
	if !ok {
		return errors.New("a device takes the private gradient steps of one solver of all of a client's records")
	}
	data, err := m.Model.OnDeviceRecords(records, m.Clients)
	if err != nil {
		return err
	}
	sampling := m.Sampling(records.Units())
	switch batches := sampling.(type) {
	case dpmech.Poisson:
		batches.Selection = a.Selection
		sampling = batches
	case dpmech.WithoutReplacement:
		batches.Selection = a.Selection
		sampling = batches
	}
	mechanism, err := m.Drawing(sampling, records)
	if err != nil {
		return err
	}
	return descent.On(a, mechanism, data)
}
