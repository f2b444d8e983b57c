package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// largestStudies has a study for each method, with its [inference] and [privacy].
var largestStudies = map[string][2]string{
	"no privacy":    {"", ""},
	"statistics":    {"rounds = 3\nsolver = \"clipped-analytical\"\nintervals = \"none\"", ofRecords},
	"gradients":     {"rounds = 2\nsolver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 4\nsampling_rate = 0.5\nintervals = \"none\"", ofRecords},
	"gradient sum":  {"rounds = 2\nsolver = \"dp-svi\"\nq = \"diagonal\"\nsampling_rate = 0.5\nintervals = \"none\"", ofRecords},
	"one step":      {"rounds = 1\nsolver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 4\nsampling_rate = 0.5\nnoise_aware = \"one-step\"", ofRecords},
	"sites":         {"rounds = 2\nsolver = \"dp-sep\"\nq = \"diagonal\"\nsteps = 4\nintervals = \"none\"", ofRecords},
	"parts":         {"rounds = 2\nsolver = \"conjugate\"\npartitions = 4\npartitioned = \"virtual\"\nfactors = \"exact\"\nintervals = \"none\"", ofRecords},
	"change":        {"rounds = 2\nsolver = \"conjugate\"\nintervals = \"none\"", ofClients + "\nclip = 3.0"},
	"scores":        {"rounds = 5\nsolver = \"scoring\"", ofRecords},
	"client scores": {"rounds = 3\nsolver = \"scoring\"", ofClients},
}

// summed are the names of those studies whose messages only their sum opens.
var summed = []string{"gradient sum", "parts", "change", "scores", "client scores"}

const (
	ofRecords = "unit = \"record\"\nnoise_multiplier = 0.5\ndelta = 1e-5"
	ofClients = "unit = \"client\"\nnoise_multiplier = 0.5\ndelta = 1e-5"
)

// The test checks the bound on the size of an answer against the largest answer for rosters with
// few and many clients and with short and long names.
func TestLargestBody(t *testing.T) {
	for name, s := range largestStudies {
		for _, federation := range []string{"min_clients = 3", "min_clients = 520\nopens = \"sums\"\naggregation = \"secure\""} {
			if strings.Contains(federation, "secure") && !slices.Contains(summed, name) {
				continue
			}
			parts := linestudy.Parts{Version: 2, Inference: s[0], Privacy: s[1], Federation: "nominal_records = 30\n" + federation}
			st, err := study.Parse("study.toml", linestudy.Document(parts))
			check(t, err)
			bound, err := largestBody(st)
			check(t, err)
			for _, clients := range []int{st.Federation.Least(), 600, roster.MaxParties - 1} {
				for _, length := range []int{4, identity.MaxName} {
					names := make([]pvi.ClientID, clients)
					for i := range names {
						number := fmt.Sprintf("%04d", i)
						names[i] = pvi.ClientID(strings.Repeat("a", length-len(number)) + number)
					}
					size := int64(0)
					if st.Federation.Aggregation == study.Secure {
						p, err := session.Public(st, names)
						check(t, err)
						size = sums.LargestBody(p.VectorSize(), clients)
					} else {
						release, err := session.MaxRelease(st, names)
						check(t, err)
						size = int64(seal.SealedSize(len(signed.Header{Domain: signed.Release}.Bytes()), release))
					}
					if size > bound {
						t.Errorf("%s %s: %d clients with names of %d bytes: %d bytes, the bound is %d", name, federation, clients, length, size, bound)
					}
				}
			}
		}
	}
}
