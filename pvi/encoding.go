package pvi

import (
	"bytes"
	"io"
)

// An Encoding is a state to be written, of some megabytes or more. It must be written before
// the machine changes.
type Encoding struct {
	Size  int // in bytes
	Write func(io.Writer) error
}

// Bytes returns the bytes of the encoding.
func (e Encoding) Bytes() ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, e.Size))
	err := e.Write(b)
	return b.Bytes(), err
}
