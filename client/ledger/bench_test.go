package ledger_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
)

// BenchmarkCharge measures how long a durable charge takes, and how long it takes to open and check
// a ledger with as many charges.
func BenchmarkCharge(b *testing.B) {
	for _, c := range []struct {
		name  string
		event accountant.Event
	}{
		{"gaussian", accountant.Gaussian{Sensitivity: 1, Sigma: 1e6, Adjacency: accountant.AddRemove}},
		{"sampled", accountant.Repeated{Event: accountant.Poisson{Rate: 1e-5, Sigma: 100, Adjacency: accountant.AddRemove}, Times: 10}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "state"))
			budget, err := ledger.NewBudget(ledger.Record, "", accountant.AddRemove, accountant.Target{Epsilon: 10, Delta: 1e-5}, c.event)
			check(b, err)
			check(b, s.AddBudget("ward", budget, today))
			ask := uint64(0)
			for b.Loop() {
				ask++
				r := release(ask)
				r.Event = c.event
				_, err := s.Charge(ledger.Change{Study: study, Parts: map[string][]byte{"site": make([]byte, 1000)}}, r, today, says)
				check(b, err)
			}
			var out bytes.Buffer
			check(b, s.Export(&out, today))
			check(b, s.Close())
			b.Run("verify", func(b *testing.B) {
				for b.Loop() {
					_, err := ledger.Verify(bytes.NewReader(out.Bytes()))
					check(b, err)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(ask), "µs/entry")
			})
		})
	}
}
