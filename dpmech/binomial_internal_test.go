package dpmech

import (
	"reflect"
	"testing"
)

// After other tables were made, binomialOf must still return the right table. It must not share
// large tables.
func TestSharedBinomials(t *testing.T) {
	for range 2 {
		for n := range keptTables {
			for _, q := range []float64{0, 0.1, 0.4, 1} {
				if !reflect.DeepEqual(binomialOf(n, q), newBinomial(n, q)) {
					t.Fatalf("n = %d, q = %g: another table is shared", n, q)
				}
			}
		}
	}
	if first, second := binomialOf(50, 0.3), binomialOf(50, 0.3); first != second {
		t.Error("a small table was made twice instead of shared")
	}
	if b := binomialOf(1<<17, 0.5); len(b.top) <= mostShared || b == binomialOf(1<<17, 0.5) {
		t.Errorf("a table of %d outcomes is kept", len(b.top))
	}
}
