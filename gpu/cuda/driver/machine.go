//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"sync"
)

// Machine is a GPU together with this program's compiled kernels. It implements cuda.Device.
// Several goroutines may call its methods. A mutex makes the calls run one after the other.
type Machine struct {
	d       *Device
	module  *Module
	mutex   sync.Mutex
	kernels map[string]*Kernel
	memory  map[uint64]*Memory
}

// Start opens the GPU with the given ordinal and compiles the kernels in ptx for this GPU.
func Start(ordinal int, ptx string) (*Machine, error) {
	d, err := Open(ordinal)
	if err != nil {
		return nil, err
	}
	m := &Machine{d: d, kernels: map[string]*Kernel{}, memory: map[uint64]*Memory{}}
	if m.module, err = d.Load(ptx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return m, nil
}

// Close releases the GPU and frees all memory that is still allocated.
func (m *Machine) Close() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var err error
	for _, piece := range m.memory {
		err = errors.Join(err, piece.Free())
	}
	clear(m.memory)
	return errors.Join(err, m.module.Unload(), m.d.Close())
}

// Name returns the ordinal and the model of the GPU for reports.
func (m *Machine) Name() string { return fmt.Sprintf("%v (%s)", m.d, m.d.Info.Name) }

// Device returns the open GPU.
func (m *Machine) Device() *Device { return m.d }

// Alloc allocates the given number of bytes and returns the address of the memory.
func (m *Machine) Alloc(bytes int) (uint64, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	piece, err := m.d.Alloc(int64(max(bytes, 1)))
	if err != nil {
		return 0, err
	}
	m.memory[piece.Argument()] = piece
	return piece.Argument(), nil
}

// Free overwrites memory that Alloc returned, and frees it.
func (m *Machine) Free(memory uint64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	piece, ok := m.memory[memory]
	if !ok {
		return m.d.failed("free memory", errors.New("it was not allocated"))
	}
	delete(m.memory, memory)
	return piece.Free()
}

// Write copies words to an address. It waits for earlier launches.
func (m *Machine) Write(memory uint64, words []uint64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return Set(m.d.at(memory, 8*len(words)), words)
}

// Read copies words from an address. It waits for earlier launches and returns their errors.
func (m *Machine) Read(words []uint64, memory uint64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return Get(words, m.d.at(memory, 8*len(words)))
}

// Launch runs a kernel in the given number of blocks. Each block has the given number of threads.
// shared is the size of a block's dynamic shared memory in bytes.
func (m *Machine) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	k, err := m.kernel(kernel, shared)
	if err != nil {
		return err
	}
	queue := Stream{d: m.d} // the default stream; copies wait for the launches in this stream
	return queue.Launch(k, line(blocks, threads, shared), arguments...)
}

// kernel returns the kernel with the given name. shared is the maximum size of a block's shared
// memory in bytes.
func (m *Machine) kernel(name string, shared int) (*Kernel, error) {
	k, ok := m.kernels[name]
	if ok && shared <= k.shared {
		return k, nil
	}
	k, err := m.module.Kernel(name, shared)
	if err == nil {
		m.kernels[name] = k
	}
	return k, err
}

// line returns a one-dimensional shape.
func line(blocks, threads, shared int) Shape {
	return Shape{Grid: [3]uint32{uint32(blocks)}, Block: [3]uint32{uint32(threads)}, Shared: uint32(shared)}
}

// Record implements cuda.Recorder. It records the launches in a graph. play launches the graph the
// given number of times after all earlier launches, and waits for the last one. forget frees the
// graph.
func (m *Machine) Record(work func(launch func(kernel string, blocks, threads, shared int, arguments ...uint64) error) error) (play func(times int) error, forget func() error, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	// work is called twice. This call loads the kernels, because they cannot be loaded during a
	// capture.
	err = work(func(name string, _, _, shared int, _ ...uint64) error {
		_, err := m.kernel(name, shared)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	queue, err := m.d.Stream()
	if err != nil {
		return nil, nil, err
	}
	graph, err := queue.Capture(func() error {
		return work(func(name string, blocks, threads, shared int, arguments ...uint64) error {
			return queue.Launch(m.kernels[name], line(blocks, threads, shared), arguments...)
		})
	})
	if err != nil {
		return nil, nil, errors.Join(err, queue.Close())
	}
	play = func(times int) error {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		return queue.play(graph, times)
	}
	forget = func() error {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		return errors.Join(graph.Close(), queue.Close())
	}
	return play, forget, nil
}

// play launches a graph the given number of times after all earlier launches, and waits until the
// last launch has finished.
func (s *Stream) play(g *Graph, times int) error {
	if err := s.d.Synchronize(); err != nil {
		return err
	}
	for range times {
		if err := g.Launch(); err != nil {
			return errors.Join(err, s.Wait())
		}
	}
	return s.Wait()
}
