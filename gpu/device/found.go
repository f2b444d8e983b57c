package device

// Info describes a GPU that the driver has found.
type Info struct {
	// Name is cuda:N. Model is the manufacturer's name for the GPU. Capability is its compute
	// capability, such as 9.0.
	Name       string `json:"name"`
	Model      string `json:"model"`
	Capability string `json:"compute_capability"`
	// Multiprocessors is the number of multiprocessors. Memory is the total memory size in bytes.
	Multiprocessors int   `json:"multiprocessors"`
	Memory          int64 `json:"memory_bytes"`
	// Unfit is the reason why this program cannot use the GPU. It is empty if it can.
	Unfit string `json:"unfit,omitempty"`
}

// Found lists the GPUs of a machine.
type Found struct {
	Built   bool   `json:"built_with_cuda"`
	Driver  string `json:"driver_cuda_version,omitempty"` // CUDA version of the driver, such as 13.0
	Devices []Info `json:"devices,omitempty"`
	Missing string `json:"missing,omitempty"` // reason why no GPU can be used; empty if one can
}

// Find lists the GPUs of this machine without opening them.
func Find() Found {
	f := Found{Built: Built}
	var err error
	if f.Driver, f.Devices, err = find(); err != nil {
		f.Missing = err.Error()
	}
	return f
}

// Copies holds measured copying rates for 64 MiB, in bytes per second.
type Copies struct {
	// Within is the rate within the GPU's memory, where every byte counts twice, as read and as
	// written. To is the rate from the host's memory to the GPU's memory, and From the rate in the
	// other direction.
	Within, To, From float64
}

// Measure returns the rates of copies on the GPU with the given ordinal.
func Measure(ordinal int) (*Copies, error) { return copies(ordinal) }
