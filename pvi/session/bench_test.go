package session

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
)

func wideStudy(t testing.TB, d int) *study.Study {
	t.Helper()
	var b strings.Builder
	b.WriteString("[study]\nversion = 1\nname = \"wide\"\n")
	terms := make([]string, d-1)
	for i := range terms {
		terms[i] = fmt.Sprintf("x%d", i)
		fmt.Fprintf(&b, "[[column]]\nname = %q\ntype = \"numeric\"\nbounds = [-1, 1]\n", terms[i])
	}
	b.WriteString("[[column]]\nname = \"y\"\ntype = \"numeric\"\nbounds = [-10, 10]\n")
	fmt.Fprintf(&b, "[model]\nfamily = \"linear\"\noutcome = \"y\"\nterms = [\"%s\"]\nstandardise = \"none\"\nnoise_sd = 0.5\n", strings.Join(terms, `", "`))
	b.WriteString("[inference]\nrounds = 1000\nq = \"diagonal\"\ndamping = 0.1\n[privacy]\nunit = \"client\"\nnoise_multiplier = 1.0\ndelta = 1e-5\nclip = 60\n[federation]\nmax_records = 1000\n")
	st, err := study.Parse("wide.toml", []byte(b.String()))
	check(t, err)
	return st
}

// half returns the server of a study with a thousand clients, after half of them have answered the
// first plan, and the releases of the other half.
func half(b *testing.B) (*Server, [][]byte) {
	b.Helper()
	const clients = 1000
	st := wideStudy(b, 1000)
	roster := make([]pvi.ClientID, clients)
	for m := range roster {
		roster[m] = pvi.ClientID(fmt.Sprintf("client-%03d", m))
	}
	s, err := NewServer(st, roster)
	check(b, err)
	s.Next()
	r := &pvi.Release{Protocol: s.course.protocol.Digest(), Number: 1, Change: make([]int64, s.course.protocol.MessageSize())}
	for i := range r.Change {
		r.Change[i] = int64(i) << 24
	}
	var rest [][]byte
	for m, id := range roster {
		r.Client = id
		body := wire.AppendRelease(nil, r)
		if m%2 == 0 {
			rest = append(rest, body)
		} else if _, err := s.Collect(id, 1, body); err != nil {
			b.Fatal(err)
		}
	}
	return s, rest
}

func BenchmarkCollect(b *testing.B) {
	s, rest := half(b)
	fresh, err := s.MarshalBinary()
	check(b, err)
	n := 0
	for b.Loop() {
		if _, err := s.Collect(pvi.ClientID(fmt.Sprintf("client-%03d", 2*n)), 1, rest[n]); err != nil {
			b.Fatal(err)
		}
		if n++; n == len(rest)-1 {
			b.StopTimer()
			s.rounds, err = pvi.RestoreServer(s.course.protocol, roundsOf(b, fresh))
			check(b, err)
			n = 0
			b.StartTimer()
		}
	}
}

func roundsOf(b *testing.B, state []byte) []byte {
	b.Helper()
	var parts sections
	check(b, parts.unmarshal(state))
	return parts[roundsSection]
}

func BenchmarkServerState(b *testing.B) {
	s, _ := half(b)
	var state []byte
	for b.Loop() {
		var err error
		state, err = s.MarshalBinary()
		check(b, err)
	}
	b.ReportMetric(float64(len(state)), "bytes")
}
