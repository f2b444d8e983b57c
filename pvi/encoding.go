package pvi

import (
	"bytes"
	"io"
)

// An Encoding is the state of a machine, to be marshalled later. The state may have many
// megabytes. The caller must write it before the machine changes.
type Encoding struct {
	Size  int // number of bytes
	Write func(io.Writer) error
}

// Bytes returns the bytes of the encoding.
func (e Encoding) Bytes() ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, e.Size))
	err := e.Write(b)
	return b.Bytes(), err
}
