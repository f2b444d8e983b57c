package client

import (
	"fedpvi/gpu/device"
	"fedpvi/pvi/solver"
)

// useDevice has a device take the site's private gradient steps, once there is a site, if
// one is wanted and can. Batches are drawn exactly. Otherwise the processor does, or, where a
// device is demanded, nobody. Nothing that is logged depends on records.
func (a *participant) useDevice() error {
	if a.wanted == nil || a.wanted == device.Source(device.CPU) || a.wanted == device.Source(device.Auto) && !device.Built || a.site == nil || len(a.devices) > 0 {
		return nil
	}
	why := a.site.ForDevice()
	if why == nil {
		var notice error
		if a.devices, notice, why = a.wanted.Take(); why == nil && len(a.devices) == 0 {
			why = notice
		}
	}
	if why != nil || len(a.devices) == 0 {
		return a.withoutDevice(why)
	}
	d := a.devices[0]
	err := a.site.OnDevice(solver.Accelerator{Device: d, Failed: a.withoutDevice})
	if err != nil {
		return a.withoutDevice(err)
	}
	a.client.log.Info("a device computes", "device", d.Name())
	return nil
}

// withoutDevice says why the processor computes, or refuses.
func (a *participant) withoutDevice(why error) error {
	if a.wanted.Demanded() {
		return &UsageError{why}
	}
	a.client.log.Warn("the processor computes", "why", why)
	return nil
}
