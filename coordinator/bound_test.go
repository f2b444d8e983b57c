package coordinator

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi"
	"fedpvi/pvi/wire"
	"fedpvi/transport"
)

// One element of an answer is out of bounds, so the coordinator refuses the answer. The log must
// identify the client and the element, and the client must count as missing once the others have
// answered.
func TestAnswerBeyondItsBoundIsNamed(t *testing.T) {
	var log bytes.Buffer
	document := linestudy.Document(linestudy.Parts{
		Version: 2, Privacy: "unit = \"client\"\nnoise_multiplier = 1.0\ndelta = 1e-5\nclip = 3.0", Federation: "min_clients = 2",
		Inference: "solver = \"conjugate\"\nrounds = 2\nintervals = \"none\"",
	})
	h, parties := begun(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, document, "north", "south", "west")
	follow(t, parties...)
	west := parties[2]
	ask, pending := west.site.Pending()
	if !pending {
		t.Fatal("there is no plan")
	}
	west.prepare(t)
	change := make([]int64, 5)
	change[3] = 1 << 40
	r := &pvi.Release{Protocol: pvi.Digest(west.site.Digest()), Number: ask, Client: "west", Change: change}
	item, err := west.sealed(ask, west.models[ask], wire.AppendRelease(nil, r), nil)
	check(t, err)
	if err := west.link.Submit(t.Context(), item); reasonOf(t, err) != transport.Malformed {
		t.Errorf("the answer: %v", err)
	}
	line := ""
	for l := range strings.Lines(log.String()) {
		if strings.Contains(l, "an answer was refused") {
			line = l
		}
	}
	if !strings.Contains(line, "client=west") || !strings.Contains(line, "element 4") {
		t.Errorf("the log says %q", line)
	}
	for _, p := range parties[:2] {
		check(t, p.link.Submit(t.Context(), p.prepare(t)))
	}
	if s := h.mustStatus(); len(s.Open) != 1 || !slices.Equal(s.For, []string{"west"}) {
		t.Errorf("%+v", s)
	}
}
