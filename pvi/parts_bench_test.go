package pvi

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// sparseStudy resembles a regression on census data. It has 109 coefficients, but only ten
// regressors of a record are not zero.
func sparseStudy(b *testing.B, partitions int) *study.Study {
	var text strings.Builder
	text.WriteString("[study]\nversion = 1\nname = \"sparse\"\n")
	var terms []string
	for c := range 9 {
		name := string(rune('a' + c))
		terms = append(terms, fmt.Sprintf("%q", name))
		var levels []string
		for l := range 12 {
			levels = append(levels, fmt.Sprintf("\"%d\"", l))
		}
		fmt.Fprintf(&text, "[[column]]\nname = %q\ntype = \"categorical\"\nlevels = [%s]\n", name, strings.Join(levels, ","))
	}
	text.WriteString("[[column]]\nname = \"y\"\ntype = \"categorical\"\nlevels = [\"0\",\"1\"]\n")
	fmt.Fprintf(&text, "[model]\nfamily = \"logistic\"\noutcome = \"y\"\npositive = \"1\"\ncoding = \"one-hot\"\nterms = [%s]\n", strings.Join(terms, ","))
	fmt.Fprintf(&text, "[inference]\nrounds = 1000000\nq = \"diagonal\"\ndamping = 0.2\npartitions = %d\n[privacy]\nunit = \"record\"\nnoise_multiplier = 20\ndelta = 1e-5\nclip = 1\n", partitions)
	st, err := study.Parse("sparse.toml", []byte(text.String()))
	check(b, err)
	return st
}

// BenchmarkParts measures the time that a client with 3,900 records needs for a round.
func BenchmarkParts(b *testing.B) {
	for _, k := range []int{100, 1000} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			st := sparseStudy(b, k)
			p, err := NewProtocol(st, []ClientID{"a"})
			check(b, err)
			r := seeded.Stream(1, "records")
			records := new(shard.Records)
			for range 3900 {
				row := make([]float64, 10)
				for c := range 9 {
					row[c] = float64(r.Uint64n(12))
				}
				row[9] = float64(r.Uint64n(2))
				records.Append(row)
			}
			site, err := p.NewSite("a", shard.Design(st, records))
			check(b, err)
			server := NewServer(p)
			src := seeded.Stream(1, "noise")
			var release Release
			b.ReportAllocs()
			for b.Loop() {
				plan, _ := server.Next()
				check(b, site.Propose(&release, &plan, src))
				o, err := server.Collect(&release)
				check(b, err)
				check(b, site.Settle(o))
			}
		})
	}
}
