package session

import (
	"bytes"
	"io"
)

// A Saying is an [Entry] with a body that is not put together yet, as it may be long. It is written before the
// server is asked for anything else.
type Saying struct {
	Kind  Kind
	Ask   int
	write func(w io.Writer) error
}

// WriteBody writes the body.
func (s *Saying) WriteBody(w io.Writer) error { return s.write(w) }

func (s *Saying) entry() (*Entry, error) {
	var b bytes.Buffer
	err := s.write(&b)
	return &Entry{s.Kind, s.Ask, b.Bytes()}, err
}

// Next returns the next plan that can be announced now, and false if there is none:
// answers must come first, or the study is done.
func (s *Server) Next() (Entry, bool, error) {
	plan, ok, err := s.NextSaying()
	if err != nil || !ok {
		return Entry{}, false, err
	}
	e, err := plan.entry()
	return *e, true, err
}

// Close ends a question at its deadline with the answers that have come.
func (s *Server) Close(ask int) (*Entry, error) { return entryOf(s.CloseSaying(ask)) }

func entryOf(outcome *Saying, err error) (*Entry, error) {
	if err != nil || outcome == nil {
		return nil, err
	}
	return outcome.entry()
}

// said is bytes that are put together already.
func said(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}
