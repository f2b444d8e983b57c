package sim

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The area must be the share of correctly ordered pairs of records. A tie counts half.
func TestAreaUnderCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		pairs := make([]pair, 2+r.IntN(40))
		for i := range pairs {
			pairs[i] = pair{float64(r.IntN(8)), float64(r.IntN(2))}
		}
		pairs[0].observed, pairs[1].observed = 0, 1
		var right, of float64
		for _, a := range pairs {
			for _, b := range pairs {
				if a.observed != 1 || b.observed != 0 {
					continue
				}
				of++
				switch {
				case a.predicted > b.predicted:
					right++
				case a.predicted == b.predicted:
					right += .5
				}
			}
		}
		if got := areaUnderCurve(pairs); math.Abs(got-right/of) > 1e-12 {
			t.Fatalf("area %g of %v, pairs in order %g", got, pairs, right/of)
		}
	}
}

func TestCalibrate(t *testing.T) {
	for _, n := range []int{1, 9, 25, 100, 1003} {
		pairs := make([]pair, n)
		for i := range pairs {
			pairs[i] = pair{float64((i * 7) % n), truth(i%3 == 0)}
		}
		total, last := 0, -1.0
		for _, b := range calibrate(pairs, true) {
			if b.Lower <= last || b.Predicted < b.Lower || b.Predicted > b.Upper || !(b.Error > 0) {
				t.Fatalf("%d records: group %+v after %g", n, b, last)
			}
			total, last = total+b.Records, b.Upper
		}
		if total != n {
			t.Errorf("%d records: the groups have %d records", n, total)
		}
	}
}

func TestHoldOut(t *testing.T) {
	st := partitionStudy("balanced", 4, 0, 0)
	st.Simulation.Test = .25
	records := labelled(200, .5)
	kept, test, err := holdOut(st, records, 7)
	if err != nil || kept.Len() != 150 || test.Len() != 50 {
		t.Fatalf("%d kept, %d held out, %v", kept.Len(), test.Len(), err)
	}
	seen := map[float64]bool{}
	for i := range kept.Len() {
		seen[kept.Row(i)[0]] = true
	}
	for i := range test.Len() {
		if seen[test.Row(i)[0]] {
			t.Fatalf("record %g is held out and dealt", test.Row(i)[0])
		}
	}
	st.Simulation.TestLast = true
	kept, test, err = holdOut(st, records, 7)
	if err != nil || kept.Len() != 150 || test.Len() != 50 {
		t.Fatalf("%d kept, the last %d held out, %v", kept.Len(), test.Len(), err)
	}
	for i := range records.Len() {
		part, at := kept, i
		if i >= 150 {
			part, at = test, i-150
		}
		if part.Row(at)[0] != records.Row(i)[0] {
			t.Fatalf("record %d is not where the order of the file puts it", i)
		}
	}
	st.Simulation.Test = .001
	if _, _, err := holdOut(st, records, 7); err == nil {
		t.Error("nothing is held out of 200 records, and that is accepted")
	}
}
