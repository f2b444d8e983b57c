//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"
)

// Device is an open GPU with the CUDA context of the process. Its methods may be called from any
// goroutine, but not at the same time.
type Device struct {
	Info
	dev cu.Device
	ctx cu.CUContext
}

// Open opens the GPU with the given ordinal. It creates a context, which takes several hundred
// megabytes of the GPU's memory.
func Open(ordinal int) (*Device, error) {
	_, found, err := Find()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(found) {
		return nil, &Error{name(ordinal), "open it", ErrNoDevice, fmt.Sprintf("the driver sees %d, from cuda:0", len(found))}
	}
	d := &Device{Info: found[ordinal], dev: cu.Device(ordinal)}
	if d.Unfit != nil {
		return nil, &Error{name(ordinal), "open it", d.Unfit, "use another GPU or --device cpu"}
	}
	if d.ctx, err = d.dev.RetainPrimaryCtx(); err != nil {
		return nil, d.failed("open it", err)
	}
	return d, nil
}

// Close releases the GPU and frees all memory that is still allocated.
func (d *Device) Close() error {
	if err := d.dev.ReleasePrimaryCtx(); err != nil {
		return d.failed("give it back", err)
	}
	return nil
}

// String returns this program's name for the device, such as cuda:0.
func (d *Device) String() string { return name(d.Ordinal) }

// failed describes a failure on this device. It adds the name of the device and the operation that
// failed to err. doing is the operation.
func (d *Device) failed(doing string, err error) error { return failure(d.String(), doing, err) }

// do runs calls on a thread on which the device's context is current. If they fail, the error says
// that doing failed.
func (d *Device) do(doing string, calls func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(d.ctx); err != nil {
		return d.failed("use it", err)
	}
	if err := calls(); err != nil {
		return d.failed(doing, err)
	}
	return nil
}

// Free returns the number of free bytes of the GPU's memory.
func (d *Device) Free() (free int64, err error) {
	err = d.do("ask for free memory", func() error {
		free, _, err = cu.MemInfo()
		return err
	})
	return free, err
}

// Synchronize waits until all launches are finished, and returns their errors.
func (d *Device) Synchronize() error { return d.do("wait for it", cu.Synchronize) }

// Memory is an allocated block of the GPU's memory.
type Memory struct {
	d    *Device
	at   cu.DevicePtr
	size int64
}

// Alloc allocates size bytes of the GPU's memory. size must be at least one. The content of the
// memory is undefined.
func (d *Device) Alloc(size int64) (*Memory, error) {
	m := &Memory{d: d, size: size}
	return m, d.do("take memory", func() (err error) {
		m.at, err = cu.MemAlloc(size)
		return err
	})
}

// at returns the memory whose address was returned by Alloc, as a Memory of size bytes.
func (d *Device) at(address uint64, size int) *Memory {
	return &Memory{d, cu.DevicePtr(address), int64(size)}
}

// Free overwrites the memory with zeros and frees it, so that its next user finds no data.
func (m *Memory) Free() error {
	return errors.Join(m.Zero(), m.d.do("give memory back", func() error { return cu.MemFree(m.at) }))
}

// Size returns the size of the memory in bytes.
func (m *Memory) Size() int64 { return m.size }

// Argument returns the address of the memory, for use as an argument of a kernel.
func (m *Memory) Argument() uint64 { return uint64(m.at) }

// Zero sets all bytes to zero.
func (m *Memory) Zero() error {
	return m.d.do("clear memory", func() error { return cu.MemsetD8(m.at, 0, m.size) })
}

// Numbers are the number types that can be copied to and from the GPU.
type Numbers interface {
	~uint8 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// bytesOf returns the address of a slice's elements, and their size in bytes.
func bytesOf[T Numbers](s []T) (unsafe.Pointer, int64) {
	return unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)) * int64(unsafe.Sizeof(*new(T)))
}

// copies checks that size bytes fit into the memory, and then calls call, which copies them to or
// from it. If they do not fit, it returns an error. doing describes the operation in errors.
func (m *Memory) copies(doing string, size int64, call func() error) error {
	if size > m.size {
		return &Error{m.d.String(), doing, errors.New("the memory is too small"), ""}
	}
	if size == 0 {
		return nil
	}
	return m.d.do(doing, call)
}

// Set copies the elements of src to the beginning of the memory. It returns when the copy is done.
func Set[T Numbers](m *Memory, src []T) error {
	at, size := bytesOf(src)
	return m.copies("copy to it", size, func() error { return cu.MemcpyHtoD(m.at, at, size) })
}

// Get copies the beginning of the memory to dst. It returns when the copy is done.
func Get[T Numbers](dst []T, m *Memory) error {
	at, size := bytesOf(dst)
	return m.copies("copy from it", size, func() error { return cu.MemcpyDtoH(at, m.at, size) })
}

// Pinned is host memory that cannot be paged out, so that the GPU can copy to and from it directly.
type Pinned struct {
	d    *Device
	at   unsafe.Pointer
	size int
}

// Pin allocates pinned memory. size is the number of bytes.
func (d *Device) Pin(size int) (*Pinned, error) {
	p := &Pinned{d: d, size: size}
	return p, d.do(fmt.Sprintf("pin %d bytes of the host's memory", size), func() (err error) {
		p.at, err = hostAlloc(size)
		return err
	})
}

// Bytes returns the memory, which is valid until Free.
func (p *Pinned) Bytes() []byte { return unsafe.Slice((*byte)(p.at), p.size) }

// Free frees the memory.
func (p *Pinned) Free() error {
	return p.d.do("give pinned memory back", func() error { return cu.MemFreeHost(p.at) })
}
