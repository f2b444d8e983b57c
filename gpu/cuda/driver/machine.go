//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"sync"
)

// Machine is a GPU with the kernels of a module, as package cuda computes on one. Its
// methods may be called from several goroutines at once; they take turns.
type Machine struct {
	d       *Device
	module  *Module
	mutex   sync.Mutex
	kernels map[string]*Kernel
	memory  map[uint64]*Memory
}

// Start opens a GPU and compiles PTX for it.
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

// Close gives the GPU back, with all that was not freed.
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

// Name says what computes.
func (m *Machine) Name() string { return fmt.Sprintf("%v (%s)", m.d, m.d.Info.Name) }

// Device returns the GPU.
func (m *Machine) Device() *Device { return m.d }

// Alloc returns the address of so many bytes.
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

// Free gives memory back that Alloc returned.
func (m *Machine) Free(memory uint64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	piece, ok := m.memory[memory]
	if !ok {
		return m.d.failed("give memory back", errors.New("nobody took it"))
	}
	delete(m.memory, memory)
	return piece.Free()
}

// Write copies words to an address. It waits for what was launched before.
func (m *Machine) Write(memory uint64, words []uint64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return Set(m.d.at(memory, 8*len(words)), words)
}

// Read copies words from an address. It waits for what was launched before, and returns
// what failed of that.
func (m *Machine) Read(words []uint64, memory uint64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return Get(words, m.d.at(memory, 8*len(words)))
}

// Launch runs a kernel in so many blocks of threads, each with shared bytes of dynamic
// shared memory.
func (m *Machine) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	k, ok := m.kernels[kernel]
	if !ok || shared > k.shared {
		var err error
		if k, err = m.module.Kernel(kernel, shared); err != nil {
			return err
		}
		m.kernels[kernel] = k
	}
	queue := Stream{d: m.d} // the one that copies wait for
	return queue.Launch(k, Shape{Grid: [3]uint32{uint32(blocks)}, Block: [3]uint32{uint32(threads)}, Shared: uint32(shared)}, arguments...)
}
