package audit

import (
	"os"
	"sync"
)

// A file is a sink that appends JSON lines to a file. If the file has been renamed or removed, for
// example by log rotation, it begins a new one.
type file struct {
	path string

	mu sync.Mutex
	f  *os.File
}

func openFile(path string) (*file, error) {
	s := &file{path: path}
	return s, s.open()
}

func (s *file) open() (err error) {
	s.f, err = os.OpenFile(s.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return err
}

// Write implements [Sink].
func (s *file) Write(l Line) error {
	text, err := l.JSON()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.follow(); err != nil {
		return err
	}
	_, err = s.f.Write(append(text, '\n'))
	return err
}

// follow opens a new file at s.path if the open one has been renamed or removed.
func (s *file) follow() error {
	if s.f != nil {
		there, err := os.Stat(s.path)
		here, e := s.f.Stat()
		if err == nil && e == nil && os.SameFile(there, here) {
			return nil
		}
		s.f.Close() //nolint:errcheck // the lines in this file were written
		s.f = nil
	}
	return s.open()
}

// Close implements [Sink].
func (s *file) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return nil
	}
	return s.f.Close()
}
