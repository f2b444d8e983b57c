package pvi

import (
	"bytes"
	"io"
)

// An Encoding is the state of a server or a site, ready to be marshalled. The caller must call
// [Encoding.Bytes] before the server or the site changes.
type Encoding struct {
	Size  int // length of the encoded state in bytes
	Write func(io.Writer) error
}

// Bytes returns the encoded state.
func (e Encoding) Bytes() ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, e.Size))
	err := e.Write(b)
	return b.Bytes(), err
}
