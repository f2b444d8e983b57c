//go:build cuda

package driver

import (
	"fmt"

	"gorgonia.org/cu"
)

// minimalVersion is the oldest supported version of CUDA, 11.4 (driver 470), which is the first
// with the graph functions that this package uses. minimalMajor and minimalMinor are the lowest
// supported compute capability, 7.5, for which the PTX is compiled.
const (
	minimalVersion = 11040
	minimalMajor   = 7
	minimalMinor   = 5
)

// unsupportedPTX is the error CUDA_ERROR_UNSUPPORTED_PTX_VERSION. Package cu has no name for it.
const unsupportedPTX = code(222)

// Version is the CUDA version that a driver offers, as 1000·major + 10·minor.
type Version int

func (v Version) String() string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Info describes a GPU.
type Info struct {
	// Name is the manufacturer's name for the GPU. Ordinal is the number N in cuda:N.
	Name    string
	Ordinal int
	// Major and Minor are the compute capability.
	Major, Minor int
	// Multiprocessors is the number of multiprocessors. Shared is the maximum size of a block's
	// dynamic shared memory in bytes. Memory is the size of the GPU's memory in bytes.
	Multiprocessors, Shared int
	Memory                  int64
	// MemoryClock (Hz) and BusWidth (bits) limit the memory bandwidth. ClockRate (Hz) is the clock
	// rate of the multiprocessors. A field is 0 if the driver does not report it.
	MemoryClock, ClockRate float64
	BusWidth               int
	// Unfit is the reason why no kernel of this program can run on the GPU. It is nil if the
	// kernels can run.
	Unfit error
}

// Find opens the driver and returns its version and its GPUs. It returns an error if there is no
// GPU or the driver is too old. Find creates no context, so it needs no GPU memory.
func Find() (Version, []Info, error) {
	fail := func(doing string, cause error, advice string) (Version, []Info, error) {
		return 0, nil, &Error{"cuda", doing, cause, advice}
	}
	why, c := initialise()
	switch {
	case why != "" && c == code(cu.NoDevice):
		return fail("look for GPUs", ErrNoDevice, "nvidia-smi lists the GPUs of the driver; CUDA_VISIBLE_DEVICES can hide some of them from programs")
	case why != "" && c == code(cu.NotInitialized): // the library could not be opened; why is the reason
		return fail("open libcuda.so.1", fmt.Errorf("%w: %s", ErrNoDriver, why), "install the driver of the GPU's manufacturer")
	case why != "":
		return fail("start the driver", fmt.Errorf("%w: %s", ErrNoDriver, why), advice(c))
	}
	version := Version(cu.Version())
	if version < minimalVersion {
		return fail("look at the driver", fmt.Errorf("%w: it offers CUDA %v", ErrOld, version), fmt.Sprintf("CUDA %v is needed: install driver 470 or a later one", Version(minimalVersion)))
	}
	n, err := cu.NumDevices()
	if err != nil {
		return 0, nil, failure("cuda", "count GPUs", err)
	}
	if n == 0 {
		return fail("look for GPUs", ErrNoDevice, "")
	}
	found := make([]Info, n)
	for i := range found {
		if found[i], err = describe(i); err != nil {
			return 0, nil, err
		}
	}
	return version, found, nil
}

// describe reads the properties of a GPU from the driver.
func describe(ordinal int) (Info, error) {
	i := Info{Ordinal: ordinal}
	dev, err := cu.GetDevice(ordinal)
	if err == nil {
		i.Name, err = dev.Name()
	}
	if err == nil {
		i.Memory, err = dev.TotalMem()
	}
	attribute := func(a cu.DeviceAttribute) (x int) {
		if err == nil {
			x, err = dev.Attribute(a)
		}
		return x
	}
	i.Major, i.Minor = attribute(cu.ComputeCapabilityMajor), attribute(cu.ComputeCapabilityMinor)
	i.Multiprocessors = attribute(cu.MultiprocessorCount)
	if err == nil {
		i.Shared, err = maxShared(dev)
	}
	if err != nil {
		return i, failure(name(ordinal), "read its properties", err)
	}
	// some drivers do not report these attributes, which then stay 0
	kHz, _ := dev.Attribute(cu.MemoryClockRate)
	i.MemoryClock = 1e3 * float64(kHz)
	kHz, _ = dev.Attribute(cu.ClockRate)
	i.ClockRate = 1e3 * float64(kHz)
	i.BusWidth, _ = dev.Attribute(cu.GlobalMemoryBusWidth)
	if i.Major < minimalMajor || i.Major == minimalMajor && i.Minor < minimalMinor {
		i.Unfit = fmt.Errorf("%w: compute capability %d.%d, and %d.%d is needed", ErrOld, i.Major, i.Minor, minimalMajor, minimalMinor)
	}
	return i, nil
}

func name(ordinal int) string { return fmt.Sprintf("cuda:%d", ordinal) }
