package client

import (
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/device"
	"fedpvi/pvi/solver"
)

// useDevice selects a device for the site's private gradient steps. Unless the user has chosen one,
// it takes a device only if it is likely to be faster than the CPU. In any case, the CPU draws the
// batches, with the selection Exact of package dpmech. Nothing in the log depends on records.
func (a *participant) useDevice() error {
	if a.wanted == nil || a.wanted == device.Source(device.CPU) || a.wanted == device.Source(device.Auto) && !device.Built || a.site == nil || len(a.devices) > 0 {
		return nil
	}
	why := a.site.ForDevice()
	if why == nil && a.wanted == device.Source(device.Auto) && !a.site.Work().Faster(1) {
		why = cuda.ErrSlower
	}
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
	if err := a.site.OnDevice(solver.Accelerator{Device: d, Failed: a.withoutDevice}); err != nil {
		return a.withoutDevice(err)
	}
	a.client.log.Info("a device computes", "device", d.Name())
	return nil
}

// withoutDevice logs why the steps are computed on the CPU. If the user requires a device, it
// returns an error instead.
func (a *participant) withoutDevice(why error) error {
	if a.wanted.Demanded() {
		return &UsageError{why}
	}
	a.client.log.Warn("the processor computes the steps", "why", why)
	return nil
}
