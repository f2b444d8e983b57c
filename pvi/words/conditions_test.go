package words_test

import (
	"testing"

	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// If they apply, Conditions mentions the noise of other clients, records that are left out, the
// limit on sums, and when answers are sent.
func TestConditions(t *testing.T) {
	record := []study.Override{{Key: "privacy.unit", Value: `"record"`}, {Key: "inference.solver", Value: `"clipped-analytical"`}}
	for _, c := range []struct {
		name string
		set  []study.Override
		want []string
		not  string
	}{
		{"clients", nil, []string{"There is no condition on the records", "add their noise to sums of 3 answers or more", "An answer leaves 1 s after"}, "cut off"},
		{"records", append(record, study.Override{Key: "federation.max_records", Value: "50"}), []string{"a client leaves out records", "A sum over more than 50 records is clipped", "only the holder learns how many."}, "add their noise"},
		{"no number of records", append(record, study.Override{Key: "federation.nominal_records", Value: ""}), []string{"All clients together have fewer than 100000 records"}, ""},
		{"a number of records", append(record, study.Override{Key: "federation.nominal_records", Value: "60"}), nil, "All clients together"},
		{"version 1", []study.Override{{Key: "study.version", Value: "1"}, {Key: "inference.intervals"}}, []string{"This time shows how long the client computed"}, "An answer leaves"},
		{"a longer pace", []study.Override{{Key: "federation.pace", Value: "90"}}, []string{"leaves 90 s after the client has read its plan. If the client computes for longer, the answer leaves at the next multiple of 90 s."}, ""},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, words.Conditions(protocol(t, summed, 3, c.set...)), c.want, c.not) })
	}
}
