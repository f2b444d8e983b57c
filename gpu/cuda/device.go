package cuda

// A Device has memory of its own, addressed by numbers, and runs the kernels of package
// kernel. Calls are made in order, and each sees what those before it did.
type Device interface {
	// Name says what computes, for reports.
	Name() string
	// Alloc returns the address of so many bytes, which hold anything.
	Alloc(bytes int) (uint64, error)
	// Free overwrites memory that Alloc returned, and gives it back: records and keys are in it.
	Free(memory uint64) error
	// Write and Read copy words to the device and from it.
	Write(memory uint64, words []uint64) error
	Read(words []uint64, memory uint64) error
	// Launch runs a kernel in so many blocks of threads, each with shared bytes of shared
	// memory. Arguments are addresses and numbers, eight bytes each.
	Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error
}
