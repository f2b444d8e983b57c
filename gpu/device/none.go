//go:build !cuda

package device

import "errors"

// Built is true if the program was built with GPU support.
const Built = false

var errNotBuilt = errors.New("this program was built without CUDA: make cuda builds one that uses GPUs, as docs/use/gpu.md says")

func find() (string, []Info, error) { return "", nil, errNotBuilt }
func start(int) (Device, error)     { return nil, errNotBuilt }
func copies(int) (*Copies, error)   { return nil, errNotBuilt }
