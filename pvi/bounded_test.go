package pvi

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
)

// From version 2 on, no element of a release exceeds the largest possible sum of clipped
// contributions plus twelve standard deviations of the noise.
//
//abuse:case A20 an answer beyond the bound by clip, max_records and noise is refused
func TestEveryKindOfMessageIsBounded(t *testing.T) {
	const (
		record = "unit = \"record\"\nepsilon = 1.0\ndelta = 1e-5"
		client = "unit = \"client\"\nnoise_multiplier = 1.0\ndelta = 1e-5\nclip = 3.0"
	)
	for name, c := range map[string]struct {
		parts linestudy.Parts
		terms float64 // number of clipped vectors in a release
	}{
		"scores":        {linestudy.Parts{Privacy: record, Federation: "nominal_records = 20"}, 1000},
		"client scores": {linestudy.Parts{Privacy: strings.Replace(client, "\nclip = 3.0", "", 1), Inference: "solver = \"scoring\"", Federation: "nominal_records = 20"}, 1},
		"change":        {linestudy.Parts{Privacy: client, Inference: "solver = \"conjugate\"\nrounds = 2\nintervals = \"none\""}, 1},
		"gradient sum":  {linestudy.Parts{Privacy: record, Inference: "solver = \"dp-svi\"\nrounds = 5\nintervals = \"none\"", Federation: "nominal_records = 20\nopens = \"sums\""}, 1000},
		"parts":         {linestudy.Parts{Privacy: record + "\nclip = 3.0", Inference: "solver = \"conjugate\"\nrounds = 2\npartitions = 4\nintervals = \"none\"", Federation: "nominal_records = 20"}, 4},
	} {
		c.parts.Version = 2
		st, err := study.Parse(name, linestudy.Document(c.parts))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := NewProtocol(st, []ClientID{"a", "b", "c"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := p.messages
		noise := p.method.Noise()
		bound := c.terms*noise.Clip + 12*noise.SD
		if s, ok := p.method.(method.Stepped); ok {
			bound = c.terms*s.Sampled().Clip() + 12*noise.SD
		}
		if got := m.Lattice.Float(m.Limit()); !(got <= bound) || got < c.terms*noise.Clip {
			t.Errorf("%s (%T): a release has elements up to %g, and clip and noise allow %g", name, p.method, got, bound)
		}
		if got, want := float64(m.Range.Of(3)), 3*float64(m.Range.Signal)+math.Sqrt(3)*float64(m.Range.Noise); math.Abs(got-want) > 1+want*1e-12 {
			t.Errorf("%s: a sum of three is at most %g, want %g", name, got, want)
		}
		for _, beyond := range []int64{0, 1} {
			s := NewServer(p)
			plan, _ := s.Next()
			r := Release{Protocol: p.digest, Number: plan.Number, Client: "a", Change: make([]int64, m.Size)}
			r.Change[m.Size-1] = -m.Limit() - beyond
			_, err := s.Collect(&r)
			var refused *Refused
			if errors.As(err, &refused) != (beyond > 0) {
				t.Errorf("%s: %d steps beyond the bound: %v", name, beyond, fmt.Sprint(err))
			}
		}
	}
}
