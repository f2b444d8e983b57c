package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPanicHidesItsValue(t *testing.T) {
	for _, f := range []func(){
		func() { panic(fmt.Sprint("record ", 424242)) },
		func() { panic(errors.New("424242")) },
		func() { _ = make([]int, 3)[len(strings.Repeat("x", 424242)):] },
	} {
		err := Run(f)
		if err == nil || strings.Contains(err.Error(), "424242") || !strings.Contains(err.Error(), "guard_test.go:") {
			t.Errorf("%v", err)
		}
	}
	if err := Run(func() {}); err != nil {
		t.Error(err)
	}
}

// The other records must contribute the same as if the record that panics were not there.
func TestBatch(t *testing.T) {
	records := []int{3, 0, 5, 0, 7}
	var computed int
	var used []int
	compute := func(some []int) {
		computed = 0
		for _, r := range some {
			computed += 105 / r
		}
	}
	use := func(some []int) error { used = append(used, some...); return nil }
	if err := Batch(records, compute, use); err != nil || !slices.Equal(used, []int{3, 5, 7}) {
		t.Errorf("%v: used %v", err, used)
	}
	used = nil
	if err := Batch([]int{3, 5}, compute, use); err != nil || !slices.Equal(used, []int{3, 5}) || computed != 105/3+105/5 {
		t.Errorf("%v: used %v, computed %d", err, used, computed)
	}
	if err := Batch(records, func([]int) {}, func([]int) error { return errors.ErrUnsupported }); err != errors.ErrUnsupported {
		t.Error(err)
	}
	if err := Batch([]int(nil), compute, use); err != nil {
		t.Error(err)
	}
	all := []int{1, 2}
	n := testing.AllocsPerRun(10, func() { _ = Batch(all, func(some []int) { computed += some[0] }, func([]int) error { return nil }) })
	if n > 0 {
		t.Errorf("%g allocations", n)
	}
}
