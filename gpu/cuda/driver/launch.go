//go:build cuda

package driver

import (
	"fmt"

	"gorgonia.org/cu"
)

// Module holds compiled kernels.
type Module struct {
	d *Device
	m cu.Module
}

// Load compiles PTX for the GPU. The driver caches the result, so loading the same PTX again is
// fast.
func (d *Device) Load(ptx string) (*Module, error) {
	m := &Module{d: d}
	return m, d.do("compile the kernels", func() error {
		compiled, log, err := load(ptx)
		m.m = compiled
		if err != nil && log != "" {
			return fmt.Errorf("%w: %s", err, log)
		}
		return err
	})
}

// Unload frees the memory of the kernels.
func (m *Module) Unload() error { return m.d.do("unload the kernels", m.m.Unload) }

// Kernel is a function that runs on the GPU.
type Kernel struct {
	launch string // name of the operation that launches the kernel, for errors
	shared int
	f      cu.Function
}

// Kernel returns the kernel with the given name. shared is the maximum size of a block's dynamic
// shared memory in bytes.
func (m *Module) Kernel(name string, shared int) (*Kernel, error) {
	k := &Kernel{launch: "launch kernel " + name, shared: shared}
	return k, m.d.do("look for kernel "+name, func() (err error) {
		if k.f, err = m.m.Function(name); err != nil || shared <= 48<<10 {
			return err
		}
		return setShared(k.f, shared)
	})
}

// Stream is a queue of launches and copies on the GPU. They run in the order in which they were
// added.
type Stream struct {
	d *Device
	s cu.Stream
}

// Stream returns a new, empty stream.
func (d *Device) Stream() (*Stream, error) {
	s := &Stream{d: d}
	return s, d.do("make a stream", func() (err error) {
		s.s, err = cu.MakeStream(cu.NonBlocking)
		return err
	})
}

// Wait waits until everything in the stream is finished, and returns its errors.
func (s *Stream) Wait() error { return s.d.do("wait for a stream", s.s.Synchronize) }

// Close destroys the stream.
func (s *Stream) Close() error { return s.d.do("close a stream", s.s.Destroy) }

// Shape is the shape of a launch: the number of blocks in each dimension of the grid, the number of
// threads in each dimension of a block, and the size of a block's dynamic shared memory in bytes. A
// dimension of 0 counts as 1.
type Shape struct {
	Grid, Block [3]uint32
	Shared      uint32
}

// Launch adds a kernel launch to the stream. It returns before the kernel has run. Each argument
// has eight bytes: the address of a memory from [Memory.Argument], or the bits of a number.
func (s *Stream) Launch(k *Kernel, shape Shape, arguments ...uint64) error {
	for i := range 3 {
		shape.Grid[i], shape.Block[i] = max(shape.Grid[i], 1), max(shape.Block[i], 1)
	}
	return s.d.do(k.launch, func() error { return launch(k.f, shape.Grid, shape.Block, shape.Shared, s.s, arguments) })
}

// Copy adds a copy to the stream: all of src goes to the beginning of dst. dst must not be smaller
// than src.
func (s *Stream) Copy(dst, src *Memory) error {
	return dst.copies("copy on it", src.size, func() error { return cu.MemcpyDtoDAsync(dst.at, src.at, src.size, s.s) })
}

// Upload adds a copy to the stream: all of src goes to the beginning of dst. Download adds a copy
// that fills dst with the beginning of src.
func (s *Stream) Upload(dst *Memory, src *Pinned) error {
	return dst.copies("copy to it", int64(src.size), func() error { return cu.MemcpyHtoDAsync(dst.at, src.at, int64(src.size), s.s) })
}

func (s *Stream) Download(dst *Pinned, src *Memory) error {
	return src.copies("copy from it", int64(dst.size), func() error { return cu.MemcpyDtoHAsync(dst.at, src.at, int64(dst.size), s.s) })
}

// Time measures how many seconds the GPU takes for the launches and copies that work adds to the
// stream.
func (s *Stream) Time(work func() error) (float64, error) {
	var from, to cu.Event
	err := s.d.do("take the time", func() (err error) {
		if from, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return err
		}
		if to, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return err
		}
		return from.Record(s.s)
	})
	if err == nil {
		err = work()
	}
	if err != nil {
		return 0, err
	}
	var ms float64
	err = s.d.do("take the time", func() (err error) {
		if err = to.Record(s.s); err != nil {
			return err
		}
		if err = to.Synchronize(); err != nil {
			return err
		}
		if ms, err = from.Elapsed(to); err != nil {
			return err
		}
		if err = cu.DestroyEvent(&from); err != nil {
			return err
		}
		return cu.DestroyEvent(&to)
	})
	return ms / 1e3, err
}
