package device

// Info describes a GPU that a driver sees.
type Info struct {
	// Name is cuda:N, Model the manufacturer's name, Capability that of computing, as 9.0.
	Name       string `json:"name"`
	Model      string `json:"model"`
	Capability string `json:"compute_capability"`
	// Multiprocessors is their number, Memory the bytes of all memory.
	Multiprocessors int   `json:"multiprocessors"`
	Memory          int64 `json:"memory_bytes"`
	// Unfit says why this program cannot use it; empty if it can.
	Unfit string `json:"unfit,omitempty"`
}

// Found is what there is to compute on beside the processor.
type Found struct {
	Built   bool   `json:"built_with_cuda"`
	Driver  string `json:"driver_cuda_version,omitempty"` // that the driver offers, as 13.0
	Devices []Info `json:"devices,omitempty"`
	Missing string `json:"missing,omitempty"` // what keeps GPUs from being used
}

// Find looks for GPUs and takes none into use.
func Find() Found {
	f := Found{Built: Built}
	var err error
	if f.Driver, f.Devices, err = find(); err != nil {
		f.Missing = err.Error()
	}
	return f
}

// Copies are rates of copies of 64 MiB, in bytes a second.
type Copies struct {
	// Within the GPU's memory, where every byte counts as read and as written; from the
	// host's memory to the GPU's, and back.
	Within, To, From float64
}

// Measure returns how fast the GPU of the ordinal copies.
func Measure(ordinal int) (*Copies, error) { return copies(ordinal) }
