package sim

import (
	"math"
	"slices"
	"testing"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// In a conjugate model, an influence must equal the difference between the fits with and without
// the client.
func TestInfluences(t *testing.T) {
	st, path := experiment(t, "demo/blood-pressure.toml", slices.Concat(NonPrivate, []string{"simulation.clients=5", "federation.min_clients=5", "inference.target=", "federation.colluders=0"})...)
	f := newPlay(t, st, path, 4).Federation
	reference, err := NewReference(f.Protocol, f.Shards, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := influences(f.Protocol, f.Shards, reference)
	if err != nil || len(all) != 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	mean, cov := moments(t, reference.family, reference.Natural)
	for n, one := range all {
		k := slices.Index(f.Protocol.Roster(), one.Client)
		without, err := NewReference(f.Protocol, slices.Delete(slices.Clone(f.Shards), k, k+1), nil)
		if err != nil {
			t.Fatal(err)
		}
		other, _ := moments(t, without.family, without.Natural)
		most, name := 0.0, ""
		for i, p := range f.Protocol.Model().Parameters.All() {
			if shift := (other[i] - mean[i]) / math.Sqrt(cov.At(i, i)); math.Abs(shift) > math.Abs(most) {
				most, name = shift, p.Name
			}
		}
		if one.Coefficient != name || math.Abs(one.Shift-most) > 1e-6 || one.Records != f.Shards[k].Len() {
			t.Errorf("%+v, want %s by %g", one, name, most)
		}
		if n > 0 && math.Abs(one.Shift) > math.Abs(all[n-1].Shift) {
			t.Errorf("%+v are not in order", all)
		}
	}
	if none, err := influences(f.Protocol, []*shard.Shard{f.Shards[0]}, reference); none != nil || err != nil {
		t.Errorf("one client: %+v, %v", none, err)
	}
	if f.Protocol.Study().Federation.Opens == study.OpenSums {
		t.Error("messages of this study stay closed")
	}
}
