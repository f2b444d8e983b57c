//go:build cuda

package driver

import (
	"errors"
	"runtime"
)

// A Graph is a recorded sequence of launches and copies that can be launched as a whole.
type Graph struct {
	d *Device
	s *Stream
	g graphExec
}

// Capture calls work and records the launches and copies that it adds to the stream. They do not
// run. work must use no other stream, must not wait for copies, and must not allocate memory.
func (s *Stream) Capture(work func() error) (*Graph, error) {
	runtime.LockOSThread() // a capture belongs to a thread, so the goroutine must stay on its thread
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
	if failed != nil { // the error of work says more than the error of the capture
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

// Launch adds the recorded launches and copies to the stream, and returns before they have run.
func (g *Graph) Launch() error {
	return g.d.do("launch a graph", func() error { return launchGraph(g.g, g.s.s) })
}

// Close frees the memory of the graph.
func (g *Graph) Close() error {
	return g.d.do("close a graph", func() error { return destroyGraph(g.g) })
}
