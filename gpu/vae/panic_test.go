package vae

import (
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// A putting is a plan that keeps a copy of the gradient that each record adds to the sum in the
// current step.
type putting struct {
	*dpmech.ProductPlan
	batch []uint32
	put   map[uint32][]float64 // by record
}

func (p *putting) Next() (batch []uint32, err error) {
	p.batch, err = p.ProductPlan.Next()
	p.put = map[uint32][]float64{}
	return p.batch, err
}

func (p *putting) Put(place int, pairs []dpmech.Pair) error {
	p.put[p.batch[place]] = materialise(pairs)
	return p.ProductPlan.Put(place, pairs)
}

// If the computation of a record panics, the record must add zero to the sum of the step, and the
// other records of its chunk must add the same as without the panic. The step must return no error.
func TestRecordThatPanicsAddsZero(t *testing.T) {
	const records = 60
	step := func(broken ...uint32) map[uint32][]float64 {
		images := made(records, small.Pixels)
		run := begin(t, mechanism(t, records, 30, dpmech.Poisson{Rate: 0.5}, 1, 1), 3)
		plan, err := run.Plan(1, seeded.Streams(4, "plan"), seeded.Stream(4, "draws"))
		if err != nil {
			t.Fatal(err)
		}
		tr := newTrainer(t, network(t, 5), images, nil, records, Options{Rate: 1e-2, Batch: 30, Workers: 1}, 6)
		for _, i := range broken {
			tr.images[i] = make([]byte, 1<<20) // this is longer than the memory of a pass
		}
		p := &putting{ProductPlan: plan}
		if err := tr.TakePlan(p); err != nil {
			t.Fatal(err)
		}
		return p.put
	}
	whole := step()
	var chosen []uint32
	for i := range whole {
		chosen = append(chosen, i)
	}
	slices.Sort(chosen)
	first, last := chosen[0], chosen[len(chosen)-1]
	got := step(first, chosen[1], last)
	if len(got) != len(whole) {
		t.Fatalf("%d gradients of %d records", len(got), len(whole))
	}
	for i, g := range got {
		want := whole[i]
		if i == first || i == chosen[1] || i == last {
			want = make([]float64, len(g))
		}
		if !slices.Equal(g, want) {
			t.Errorf("record %d adds a vector of norm %g, want %g", i, norm(g), norm(want))
		}
	}
	if norm(got[chosen[2]]) == 0 {
		t.Error("a record that does not panic adds zero")
	}
}
