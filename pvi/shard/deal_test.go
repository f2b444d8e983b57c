package shard_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedpvi/pvi/shard"
)

const dealt = `
study = { version = 1, name = "dealt" }
model = { family = "logistic", outcome = "y", positive = "yes", terms = ["x"], groups = ["1 + x | g"], standardise = "none" }
inference = { rounds = 1 }
privacy = { unit = "none" }
[[column]]
name = "x"
type = "numeric"
bounds = [0, 1000]
[[column]]
name = "g"
type = "categorical"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "categorical"
levels = ["no", "yes"]
`

// After Deal, every record is in the part it was assigned to, in the order of the file and with its
// groups and slopes.
func TestDeal(t *testing.T) {
	st := parsed(t, dealt)
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 6).Draw(t, "parts")
		parts := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, k-1), func(i int) uint16 { return uint16(i) }), 0, 30).Draw(t, "part of each record")
		records := new(shard.Records)
		for i := range parts {
			records.Append([]float64{float64(i), float64(i % 3), float64(i % 2)})
		}
		whole := shard.Design(st, records)
		shards := whole.Deal(parts, k)
		if len(shards) != k {
			t.Fatalf("%d shards, want %d", len(shards), k)
		}
		next := make([]int, k)
		for i, part := range parts {
			s, at := shards[part], next[part]
			next[part]++
			if got, want := look(s, at), look(whole, i); !cmp.Equal(got, want) {
				t.Fatalf("record %d is %v, in part %d %v", i, want, part, got)
			}
		}
		for part, n := range next {
			if shards[part].Len() != n || shards[part].Dim() != whole.Dim() {
				t.Fatalf("part %d has %d records of %d regressors, want %d of %d", part, shards[part].Len(), shards[part].Dim(), n, whole.Dim())
			}
		}
	})
}

func look(s *shard.Shard, i int) []any {
	x, y := s.Record(i)
	levels, slopes := s.Groups(i)
	return []any{x, y, levels, slopes}
}
