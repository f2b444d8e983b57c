package cuda

// A Device is a graphics card, or an emulated one, that runs the kernels of package kernel. It has
// its own memory, in which an address is a number. Calls take effect in the order in which they are
// made, and each call sees the effects of earlier calls.
type Device interface {
	// Name returns the name of the device for reports.
	Name() string
	// Alloc allocates the given number of bytes and returns the address of the memory. The content
	// of the memory is undefined.
	Alloc(bytes int) (uint64, error)
	// Free overwrites and frees memory that Alloc returned. Without overwriting, the next user of
	// the memory could read records and keys.
	Free(memory uint64) error
	// Write copies words to device memory. Read copies words from device memory.
	Write(memory uint64, words []uint64) error
	Read(words []uint64, memory uint64) error
	// Launch runs a kernel in the given number of blocks, each with the given number of threads.
	// shared is the size of a block's shared memory in bytes. Every other argument is an address or
	// a number with eight bytes.
	Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error
}
