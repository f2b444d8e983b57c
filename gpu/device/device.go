// Package device chooses the devices that compute private gradient steps: the CPU, or CUDA GPUs if
// the program was built with the tag cuda (make cuda).
//
// A GPU is chosen by a name such as cuda:0, or automatically. Before a GPU receives the records of
// a client, it solves a small problem with generated records. Its results must agree with the CPU's
// results.
package device

import (
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fedpvi/gpu/cuda"
)

// A Choice is auto, cpu or cuda:N. The zero value is auto.
type Choice struct {
	kind    kind
	ordinal int
}

type kind uint8

const (
	auto kind = iota
	processor
	card
)

// Auto chooses all usable GPUs, or the CPU if there is none. CPU chooses the CPU.
var (
	Auto = Choice{}
	CPU  = Choice{kind: processor}
)

// CUDA returns the choice of one GPU, cuda:n.
func CUDA(n int) Choice { return Choice{card, n} }

var (
	_ encoding.TextUnmarshaler = new(Choice)
	_ encoding.TextMarshaler   = Choice{}
)

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Choice) UnmarshalText(text []byte) error {
	switch s := string(text); s {
	case "auto":
		*c = Auto
	case "cpu":
		*c = CPU
	default:
		digits, ok := strings.CutPrefix(s, "cuda:")
		n, err := strconv.ParseUint(digits, 10, 16)
		if !ok || err != nil || strconv.FormatUint(n, 10) != digits {
			return fmt.Errorf("no device is called %q: write auto, cpu, or cuda:0 for the first GPU", s)
		}
		*c = CUDA(int(n))
	}
	return nil
}

// MarshalText implements [encoding.TextMarshaler].
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (c Choice) String() string {
	switch c.kind {
	case processor:
		return "cpu"
	case card:
		return fmt.Sprintf("cuda:%d", c.ordinal)
	}
	return "auto"
}

// Demanded reports whether the user has chosen a particular GPU. If this GPU cannot do the work,
// the program must return an error instead of computing on the CPU.
func (c Choice) Demanded() bool { return c.kind == card }

// A Device is an open GPU. Several goroutines may call its methods at the same time.
type Device interface {
	cuda.Device
	// Close releases the GPU and frees all of its memory.
	Close() error
}

// A Source opens devices. [Choice] implements Source.
type Source interface {
	// Take opens devices. If it returns none, the CPU does the work, and notice is the reason.
	// notice is nil if Take did not look for a device.
	Take() (devices []Device, notice, err error)
	// Demanded reports whether the user has chosen these devices. If they cannot do the work, the
	// program must return an error instead of computing on the CPU.
	Demanded() bool
}

var _ Source = Auto

// Take opens the chosen GPU or, for auto, all usable GPUs. If it returns none, the CPU does the
// work. notice is the reason why GPUs are not used. It is nil if the CPU was chosen, or if the
// program was built without CUDA. If the user has chosen a GPU that cannot be used, Take returns an
// error.
func (c Choice) Take() (devices []Device, notice, err error) {
	if c.kind == processor || c.kind == auto && !Built {
		return nil, nil, nil
	}
	_, found, err := find()
	if err == nil && c.kind == card {
		d, err := take(c.ordinal)
		if err != nil {
			return nil, nil, err
		}
		return []Device{d}, nil, nil
	}
	for i := range found {
		d, unfit := take(i)
		if unfit != nil {
			notice = errors.Join(notice, unfit)
			continue
		}
		devices = append(devices, d)
	}
	switch {
	case err != nil && c.kind == card:
		return nil, nil, err
	case err != nil:
		return nil, err, nil
	}
	return devices, notice, nil
}

// take opens the GPU with the given ordinal and tests it with [Test].
func take(ordinal int) (Device, error) {
	d, err := start(ordinal)
	if err != nil {
		return nil, err
	}
	if err := Test(d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close releases devices.
func Close(devices []Device) error {
	var err error
	for _, d := range devices {
		err = errors.Join(err, d.Close())
	}
	return err
}
