//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"reflect"

	"gorgonia.org/cu"
)

// These errors say why a GPU cannot be used. Callers test for them with errors.Is.
var (
	ErrNoDriver = errors.New("no CUDA driver")
	ErrNoDevice = errors.New("no CUDA device")
	ErrOld      = errors.New("too old")
	ErrMemory   = errors.New("not enough memory on the GPU")
)

// An Error is the failure of an operation on a GPU. A client logs it. So it contains no sizes of
// memory or copies, because they depend on the number of records and on the batches.
type Error struct {
	// Device is cuda:N, or cuda if no device had been chosen.
	Device string
	// Doing is the operation, as in "copy to it".
	Doing string
	// Cause is ErrNoDriver, ErrNoDevice, ErrOld or ErrMemory, an error code of the driver, or
	// another error.
	Cause error
	// Advice tells the user how to solve the problem. It may be empty.
	Advice string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: %v", e.Device, e.Doing, e.Cause)
	if e.Advice != "" {
		s += ": " + e.Advice
	}
	return s
}

func (e *Error) Unwrap() error { return e.Cause }

// plain makes an error of package cu comparable with the constants of that package. The error has a
// type that package cu does not export. plain converts it to the type code. Other errors stay as
// they are.
func plain(err error) error {
	if v := reflect.ValueOf(err); err != nil && v.Kind() == reflect.Int {
		return code(v.Int())
	}
	return err
}

// advice returns advice for an error of the driver, or "" if there is none.
func advice(err error) string {
	var c code
	errors.As(plain(err), &c)
	switch c {
	case code(cu.NoBinaryForGpu), code(cu.InvalidPtx), code(cu.JitCompilerNotFound), unsupportedPTX:
		return "the driver cannot compile this program's kernels: install a newer one"
	case code(cu.EccUncorrectable), code(cu.HardwareStackError), code(cu.NvlinkUncorrectable):
		return "the GPU is defective: run nvidia-smi -q, and use another one or --device cpu"
	case code(cu.IllegalAddress), code(cu.LaunchFailed), code(cu.MisalignedAddress), code(cu.IllegalInstruction), code(cu.InvalidPc), code(cu.InvalidAddressSpace):
		return "a kernel failed, which is a bug in this program: use --device cpu, and report it"
	case code(cu.SystemDriverMismatch):
		return "the driver was updated while the machine was running: restart it"
	case code(cu.SystemNotReady):
		return "the GPU is not ready: on machines with NVSwitch start nvidia-fabricmanager"
	case code(cu.LaunchTimeout):
		return "a kernel ran for too long beside a display: use a GPU without one, or --device cpu"
	}
	return ""
}

// failure returns an [Error], with advice for the user. doing is the operation that failed on the
// device.
func failure(device, doing string, err error) *Error {
	err = plain(err)
	if errors.Is(err, code(cu.OutOfMemory)) {
		err = ErrMemory
	}
	if errors.Is(err, ErrMemory) {
		return &Error{device, doing, err, "end the other programs that use this GPU (nvidia-smi lists them), or use --device cpu"}
	}
	return &Error{device, doing, err, advice(err)}
}
