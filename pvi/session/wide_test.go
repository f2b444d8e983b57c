package session

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// wide returns the source of a study that has about levels² coefficients and a diagonal precision
// matrix.
func wide(levels int) []byte {
	var b strings.Builder
	b.WriteString("[study]\nversion = 1\nname = \"wide\"\n")
	for _, name := range []string{"a", "b"} {
		fmt.Fprintf(&b, "[[column]]\nname = %q\ntype = \"categorical\"\nlevels = [", name)
		for i := range levels {
			fmt.Fprintf(&b, "\"%d\", ", i)
		}
		b.WriteString("]\n")
	}
	b.WriteString(`[[column]]
name = "y"
type = "numeric"
bounds = [-10, 10]
[model]
family = "linear"
outcome = "y"
terms = ["a*b"]
standardise = "none"
noise_sd = 0.5
[inference]
rounds = 1
q = "diagonal"
[privacy]
unit = "none"
[federation]
max_records = 1000
`)
	return []byte(b.String())
}

func sameText(t *testing.T, s *Server, r *Result) {
	t.Helper()
	var written bytes.Buffer
	check(t, s.WriteResult(&written))
	text, err := r.Bytes()
	check(t, err)
	if !bytes.Equal(written.Bytes(), text) {
		t.Errorf("a result is written as\n%.2000s\nand is\n%.2000s", &written, text)
	}
}

// If q is diagonal, memory grows in proportion to the number of coefficients, rather than to its
// square.
func TestMemoryIsOfCoefficients(t *testing.T) {
	const levels = 60
	st, err := study.Parse("wide.toml", wide(levels))
	check(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	server, err := NewServer(st, []pvi.ClientID{"north"})
	check(t, err)
	plan, ok := server.Next()
	if !ok {
		t.Fatal("no plan")
	}
	_, err = server.Close(plan.Plan)
	check(t, err)
	result, err := server.Result()
	check(t, err)
	runtime.ReadMemStats(&after)
	if d := len(result.Mean); d != levels*levels || len(result.SD) != d || result.Covariance != nil {
		t.Fatalf("%d coefficients", d)
	}
	sameText(t, server, result)
	const square = 8 * levels * levels * levels * levels
	if took := after.TotalAlloc - before.TotalAlloc; took > square/2 {
		t.Errorf("%d bytes were allocated, of a square of %d", took, square)
	}
}
