package cuda

// A Device has its own memory, addressed by numbers, and runs the kernels of package kernel.
// Calls run in order, and each call sees the effects of earlier calls.
type Device interface {
	// Name returns the name of the device for reports.
	Name() string
	// Alloc returns the address of new memory of that many bytes. Its content is undefined.
	Alloc(bytes int) (uint64, error)
	// Free overwrites and frees memory that Alloc returned. Without overwriting, the next user
	// of the memory could read records and keys.
	Free(memory uint64) error
	// Write copies words to the device. Read copies words from it.
	Write(memory uint64, words []uint64) error
	Read(words []uint64, memory uint64) error
	// Launch runs a kernel in the given number of blocks of threads, each with shared bytes of
	// shared memory. Arguments are addresses and numbers of eight bytes.
	Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error
}
