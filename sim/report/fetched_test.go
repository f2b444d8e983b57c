package report

import (
	"testing"

	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// The study has 3 clients and 4 rounds. A release has 5 numbers of 8 bytes: a vector with two
// elements, and the three distinct elements of a symmetric matrix.
func TestPlannedFetched(t *testing.T) {
	st, err := study.Parse("plane.toml", linestudy.Document(linestudy.Parts{
		Version: 2, Privacy: "unit = \"record\"\nnoise_multiplier = 0.5\ndelta = 1e-5",
		Inference: "rounds = 4\nsolver = \"clipped-analytical\"\nintervals = \"none\"",
	}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pvi.NewProtocol(st, []pvi.ClientID{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if f := newPlannedFetched(p); f != nil {
		t.Errorf("%+v for releases that are in outcomes", f)
	}
	most := phase.MaxPublished
	phase.MaxPublished = 3*5 - 1
	defer func() { phase.MaxPublished = most }()
	if f := newPlannedFetched(p); f == nil || f.Round != 3*5*8 || f.Kept != 4*3*5*8 {
		t.Errorf("%+v, want %d and %d bytes", f, 3*5*8, 4*3*5*8)
	}
}
