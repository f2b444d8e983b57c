package words_test

import (
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// Conditions name the largest number of records, the noise of others, the files that are refused,
// and the time at which answers leave.
func TestConditions(t *testing.T) {
	record := []study.Override{{Key: "privacy.unit", Value: `"record"`}, {Key: "inference.solver", Value: `"clipped-analytical"`}}
	for _, c := range []struct {
		name string
		set  []study.Override
		want []string
		not  string
	}{
		{"clients", nil, []string{"at least one and at most 1000000 records", "add their noise to sums of 3 answers or more", "An answer leaves 1 s after"}, "not refused"},
		{"records", append(record, study.Override{Key: "federation.max_records", Value: "50"}), []string{"Every file has at most 50 records", "refuses a file with other records before it uses the file. The cost does not cover a refusal."}, "add their noise"},
		{"version 1", []study.Override{{Key: "study.version", Value: "1"}, {Key: "inference.intervals"}}, []string{"This time shows how long the client computed"}, "An answer leaves"},
		{"a longer pace", []study.Override{{Key: "federation.pace", Value: "90"}}, []string{"leaves 90 s after the client has read its plan. If the client computes for longer, the answer leaves at the next multiple of 90 s."}, ""},
	} {
		st, err := study.Parse("s.toml", []byte(summed), c.set...)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pvi.NewProtocol(st, []pvi.ClientID{"a", "b", "c"})
		if err != nil {
			t.Fatal(err)
		}
		got := words.Conditions(p)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in %q", c.name, want, got)
			}
		}
		if c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q is in %q", c.name, c.not, got)
		}
	}
}
