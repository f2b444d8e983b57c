//go:build cuda

package driver

/*
#cgo CFLAGS: -I${SRCDIR}/include -O2
#cgo LDFLAGS: -L${SRCDIR}/lib -ldl -lpthread
#include "loader.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"unsafe"

	"gorgonia.org/cu"

	_ "fedpvi/gpu/cuda/driver/header"
)

// A code is an error code of the driver, a CUresult. The driver can give the name and the
// description of each code.
type code C.CUresult

func (c code) Error() string {
	var name, text *C.char
	if C.cuGetErrorName(C.CUresult(c), &name) != C.CUDA_SUCCESS || C.cuGetErrorString(C.CUresult(c), &text) != C.CUDA_SUCCESS {
		return "unknown error"
	}
	return C.GoString(text) + " (" + C.GoString(name) + ")"
}

func result(c C.CUresult) error {
	if c == C.CUDA_SUCCESS {
		return nil
	}
	return code(c)
}

// initialise opens the CUDA library and initialises the driver. On success it returns "" and
// CUDA_SUCCESS. Otherwise it returns the message of the dynamic loader and an error code.
func initialise() (string, code) {
	var c C.CUresult
	why := C.fedpvi_open(&c)
	if why == nil {
		return "", 0
	}
	return C.GoString(why), code(c)
}

// function converts a kernel handle from its type in package cu to the C type. stream and module do
// the same for stream handles and module handles.
func function(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }
func stream(s cu.Stream) C.CUstream       { return C.CUstream(unsafe.Pointer(s.C())) }
func module(m *cu.Module) *C.CUmodule     { return (*C.CUmodule)(unsafe.Pointer(m)) }

// load compiles PTX and returns the module. If the compilation fails, it returns the compiler's
// messages and an error.
func load(ptx string) (m cu.Module, log string, err error) {
	text := C.CString(ptx)
	defer C.free(unsafe.Pointer(text))
	const size = 8 << 10
	buffer := (*C.char)(C.calloc(1, size))
	defer C.free(unsafe.Pointer(buffer))
	err = result(C.fedpvi_load(module(&m), text, buffer, size))
	said := C.GoBytes(unsafe.Pointer(buffer), size)
	if end := bytes.IndexByte(said, 0); end >= 0 {
		said = said[:end]
	}
	return m, string(bytes.TrimSpace(said)), err
}

// setShared lets the blocks of f use up to size bytes of dynamic shared memory each.
func setShared(f cu.Function, size int) error {
	return result(C.cuFuncSetAttribute(function(f), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(size)))
}

// maxShared returns the maximum amount of dynamic shared memory, in bytes, that a block can use on
// the GPU.
func maxShared(d cu.Device) (int, error) {
	var size C.int
	err := result(C.cuDeviceGetAttribute(&size, C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, C.CUdevice(d)))
	return int(size), err
}

func launch(f cu.Function, grid, block [3]uint32, shared uint32, s cu.Stream, arguments []uint64) error {
	return result(C.fedpvi_launch(function(f), (*C.uint)(&grid[0]), (*C.uint)(&block[0]), C.uint(shared), stream(s),
		(*C.ulonglong)(unsafe.SliceData(arguments)), C.int(len(arguments))))
}

func hostAlloc(size int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := result(C.cuMemHostAlloc(&p, C.size_t(size), 0))
	return p, err
}

func beginCapture(s cu.Stream) error {
	return result(C.cuStreamBeginCapture(stream(s), C.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
}

// endCapture ends the recording of a stream. It returns the recorded launches as an executable
// graph.
func endCapture(s cu.Stream) (graphExec, error) {
	var graph C.CUgraph
	if err := result(C.cuStreamEndCapture(stream(s), &graph)); err != nil {
		return nil, err
	}
	var exec graphExec
	err := result(C.cuGraphInstantiateWithFlags(&exec, graph, 0))
	if e := result(C.cuGraphDestroy(graph)); err == nil && e != nil {
		return nil, errors.Join(e, destroyGraph(exec))
	}
	return exec, err
}

// graphExec is an executable graph.
type graphExec = C.CUgraphExec

func launchGraph(g graphExec, s cu.Stream) error {
	return result(C.cuGraphLaunch(g, stream(s)))
}

func destroyGraph(g graphExec) error { return result(C.cuGraphExecDestroy(g)) }
