package session

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/study"
)

// WriteResult writes the same bytes as [Result.Bytes]. It writes a diagonal q in blocks, because θ
// may have a million coordinates.
func (s *Server) WriteResult(w io.Writer) error {
	if !s.Done() {
		return errNotDone
	}
	c := s.course
	if !gaussian.Independent(c.protocol.Family()) || c.protocol.Study().Inference.NoiseAware != study.NoNoiseAware {
		r, err := s.Result()
		if err != nil {
			return err
		}
		text, err := r.Bytes()
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	r, err := s.frame()
	if err != nil {
		return err
	}
	r.note(c.study)
	text, err := r.Bytes()
	if err != nil {
		return err
	}
	before, behind, _ := bytes.Cut(text, []byte(noLists))
	l := &lists{w: w}
	l.raw(string(before))
	l.raw(`"names":`)
	l.names(&c.protocol.Model().Parameters)
	l.raw(`,"natural":`)
	l.numbers(s, natural(true), natural(false))
	l.raw(`,"mean":`)
	l.numbers(s, marginals(false))
	if !c.study.Points() {
		l.raw(`,"sd":`)
		l.numbers(s, marginals(true))
	}
	l.raw(string(behind))
	return l.err
}

const noLists = `"names":null,"mean":null`

// A take computes the part of a list, such as the list of means, that belongs to one block. part is
// the family of the block, and nat its natural parameters.
type take func(part gaussian.Family, nat []float64) ([]float64, error)

func natural(first bool) take {
	return func(part gaussian.Family, nat []float64) ([]float64, error) {
		if first {
			return nat[:part.Dim()], nil
		}
		return nat[part.Dim():], nil
	}
}

func marginals(sd bool) take {
	return func(part gaussian.Family, nat []float64) ([]float64, error) {
		mean, variance, err := part.Marginals(nat)
		if roots(variance); sd {
			return variance, err
		}
		return mean, err
	}
}

type lists struct {
	w    io.Writer
	some bool // whether the list has any elements yet
	err  error
}

func (l *lists) raw(text string) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, text)
	}
}

// add appends part to the list that is being written. part must marshal to a JSON list.
func (l *lists) add(part any) {
	text, err := json.Marshal(part)
	if l.err == nil {
		l.err = err
	}
	if l.err != nil || len(text) <= len("[]") {
		return
	}
	if l.some {
		l.raw(",")
	}
	l.some = true
	l.raw(string(text[1 : len(text)-1]))
}

func (l *lists) open()  { l.raw("["); l.some = false }
func (l *lists) close() { l.raw("]") }

func (l *lists) names(all *fit.Parameters) {
	const atOnce = 512
	l.open()
	names := make([]string, 0, atOnce)
	for i, p := range all.All() {
		names = append(names, p.Name)
		if len(names) == atOnce || i == all.Len()-1 {
			l.add(names)
			names = names[:0]
		}
	}
	l.close()
}

func (l *lists) numbers(s *Server, takes ...take) {
	l.open()
	for _, t := range takes {
		err := s.rounds.EachBlock(func(part gaussian.Family, nat []float64) error {
			numbers, err := t(part, nat)
			if err == nil {
				l.add(slices.Clip(numbers))
				err = l.err
			}
			return err
		})
		if l.err == nil {
			l.err = err
		}
	}
	l.close()
}
