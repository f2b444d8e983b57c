package sim

import (
	"fmt"
	"testing"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

func TestPersonsStayTogether(t *testing.T) {
	records := new(shard.Records)
	for i := range 400 {
		records.AppendFor(fmt.Sprint(i%97), []float64{float64(i % 97), 0})
	}
	for _, kind := range []string{"balanced", "by-size"} {
		for _, last := range []bool{false, true} {
			st := partitionStudy(kind, 4, .5, 0)
			st.Privacy = study.Privacy{Unit: study.Person, RowsPerPerson: 3}
			st.Simulation.Test, st.Simulation.TestLast = .25, last
			kept, test, err := holdOut(st, records, 1)
			if err != nil {
				t.Fatal(err)
			}
			holders, err := deal(st, kept, 1)
			if err != nil {
				t.Fatal(err)
			}
			at, rows := map[float64]string{}, 0
			for _, h := range append(holders, Holder{"held out", test}) {
				for i := range h.Records.Len() {
					person := h.Records.Row(i)[0]
					if was, ok := at[person]; ok && was != string(h.ID) {
						t.Fatalf("%s: rows of person %g are at %s and at %s", kind, person, was, h.ID)
					}
					at[person] = string(h.ID)
					rows++
				}
			}
			if len(at) != 97 || rows != 400 || len(test.People()) != 24 {
				t.Errorf("%s: %d persons with %d rows, %d held out", kind, len(at), rows, len(test.People()))
			}
		}
	}
}
