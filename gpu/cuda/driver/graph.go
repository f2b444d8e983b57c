//go:build cuda

package driver

import (
	"errors"
	"runtime"
)

// Graph is work that was recorded once and is launched as one.
type Graph struct {
	d *Device
	s *Stream
	g graphExec
}

// Capture records what work puts into the queue, instead of running it. It must launch into
// this stream alone, copy nothing that waits, and take no memory.
func (s *Stream) Capture(work func() error) (*Graph, error) {
	runtime.LockOSThread() // a capture belongs to a thread
	defer runtime.UnlockOSThread()
	if err := s.d.do("record a graph", func() error { return beginCapture(s.s) }); err != nil {
		return nil, err
	}
	failed := work()
	g := &Graph{d: s.d, s: s}
	err := s.d.do("record a graph", func() (err error) {
		g.g, err = endCapture(s.s)
		return err
	})
	if failed != nil { // what ended the capture says less
		if err == nil {
			err = g.Close()
		}
		return nil, errors.Join(failed, err)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Launch puts the recorded work into its queue and does not wait for it.
func (g *Graph) Launch() error {
	unbind, err := g.d.bind()
	if err != nil {
		return err
	}
	defer unbind()
	if err := launchGraph(g.g, g.s.s); err != nil {
		return g.d.failed("launch a graph", err)
	}
	return nil
}

// Close gives the graph's memory back.
func (g *Graph) Close() error {
	return g.d.do("close a graph", func() error { return destroyGraph(g.g) })
}
