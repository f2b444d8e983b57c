package client

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/crypto/transcript"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// The protocol determines the size of an opening: it has U_min shares of ⌈d/(D + 1)⌉ words, each
// with a place and a signature.
func TestOpeningsAreAccepted(t *testing.T) {
	var columns, terms strings.Builder
	for i := range 60 {
		fmt.Fprintf(&columns, "[[column]]\nname = \"c%d\"\ntype = \"numeric\"\nbounds = [-1, 1]\noutside = \"clamp\"\n", i)
		fmt.Fprintf(&terms, ", \"c%d\"", i)
	}
	source := string(linestudy.Document(linestudy.Parts{
		Privacy: "unit = \"client\"\nnoise_multiplier = 4\ndelta = 1e-5\nclip = 60", Inference: "rounds = 3", Federation: "aggregation = \"secure\"",
	}))
	source = strings.Replace(source, "[[column]]", columns.String()+"[[column]]", 1)
	source = strings.Replace(source, "terms = [\"x\"", "terms = [\"x\""+terms.String(), 1)
	st, err := study.Parse("study.toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	m := &Member{Study: st}
	p, err := session.Public(st, pretended(st, 0))
	if err != nil {
		t.Fatal(err)
	}
	d, accepted := p.VectorSize(), m.maxEntry()
	for clients := 2; clients < 1024; clients++ {
		for fewest := clients/2 + 1; fewest <= clients; fewest++ {
			missing := clients - fewest
			opening := int64(1 + fewest*(2+64+8*((d+missing)/(missing+1))))
			if opening > accepted && opening <= transcript.MaxBody {
				t.Fatalf("%d of %d clients open %d numbers in %d bytes, and a client accepts %d", fewest, clients, d, opening, accepted)
			}
		}
	}
}
