package audit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fedpvi/accountant"
	"fedpvi/pvi/study"
)

func TestScratch(t *testing.T) {
	for _, c := range []struct{ fac, coord string; adj accountant.Adjacency }{{"tied", "centred", accountant.ReplaceOne}, {"exact", "raw", accountant.ZeroOut},{"published", "raw", accountant.ZeroOut},{"published", "raw", accountant.ReplaceOne}} {
		f, err := newFederation("x", 5, 20, c.adj, study.Override{Key: "inference.factors", Value: fmt.Sprintf("%q", c.fac)}, study.Override{Key: "privacy.coordinates", Value: fmt.Sprintf("%q", c.coord)})
		if err != nil {
			t.Fatal(err)
		}
		t0 := time.Now()
		ch, err := f.attack(1).run(context.Background(), 1000, 4000, 1e-7)
		fmt.Println(ch.Passed, ch.Detail, err, time.Since(t0))
		for _, p := range ch.Profile.Points { fmt.Println(p) }
		t0 = time.Now()
		z, err := f.messages(context.Background(), 1, 300)
		for _, tr := range append(append(z.variances(), z.shapes()...), z.correlations()...) { fmt.Println(tr) }
		fmt.Println(time.Since(t0))
	}
}
