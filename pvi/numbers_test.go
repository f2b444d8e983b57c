package pvi

import (
	"errors"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A pile is numbers that come in blocks of a size, and cannot be read from one of them on.
type pile struct {
	numbers []int64
	size    int
	fails   int // block, from 0; -1 if none
	reads   int // how often it is read before it fails
}

func (p *pile) Len() int { return len(p.numbers) }

func (p *pile) Each(f func(block []int64) error) error {
	p.reads--
	k := 0
	for block := range slices.Chunk(p.numbers, p.size) {
		if k == p.fails && p.reads < 0 {
			return io.ErrUnexpectedEOF
		}
		k++
		if err := f(slices.Clone(block)); err != nil {
			return err
		}
	}
	return nil
}

// Numbers are added all, or none of them, wherever the first is that is beyond the limit.
func TestNumbersAreAddedAllOrNone(t *testing.T) {
	const limit = 100
	within := rapid.Int64Range(-limit, limit)
	rapid.Check(t, func(t *rapid.T) {
		sum := rapid.SliceOfN(within, 1, 50).Draw(t, "sum")
		p := &pile{
			numbers: rapid.SliceOfN(within, len(sum), len(sum)).Draw(t, "numbers"),
			size:    rapid.IntRange(1, 60).Draw(t, "block"), fails: -1,
		}
		want := make([]int64, len(sum))
		for i := range sum {
			want[i] = sum[i] + p.numbers[i]
		}
		r := &round{Sum: slices.Clone(sum)}
		if err := r.add("north", p, limit); err != nil || !slices.Equal(r.Sum, want) {
			t.Fatalf("%v and %v are %v, %v", sum, p.numbers, r.Sum, err)
		}
		at := rapid.IntRange(0, len(sum)-1).Draw(t, "beyond")
		p.numbers[at] = rapid.SampledFrom([]int64{limit + 1, -limit - 1, 1<<63 - 1, -1 << 63}).Draw(t, "number")
		r.Sum = slices.Clone(sum)
		var refused *Refused
		if err := r.add("north", p, limit); !errors.As(err, &refused) || !slices.Equal(r.Sum, sum) {
			t.Fatalf("number %d is %d, %v: the sum was %v and is %v", at, p.numbers[at], err, sum, r.Sum)
		}
		p.fails, p.reads = rapid.IntRange(0, max(0, at-1)/p.size).Draw(t, "fails"), 1
		r.Sum = slices.Clone(sum)
		if err := r.add("north", p, limit); !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &refused) {
			t.Fatalf("what cannot be taken back: %v", err)
		}
	})
}

// Numbers that cannot be read, or are more or fewer than they say, are no fault of a client.
func TestNumbersThatFail(t *testing.T) {
	for name, tc := range map[string]struct {
		numbers pile
		want    error
	}{
		"from the first block on": {pile{make([]int64, 6), 2, 0, 0}, io.ErrUnexpectedEOF},
		"from the last block on":  {pile{make([]int64, 6), 2, 2, 0}, io.ErrUnexpectedEOF},
		"too few":                 {pile{make([]int64, 5), 2, -1, 0}, errNumbers},
		"too many":                {pile{make([]int64, 7), 2, -1, 0}, errNumbers},
	} {
		var refused *Refused
		err := (&round{Sum: make([]int64, 6)}).add("north", &tc.numbers, 1)
		if !errors.Is(err, tc.want) || errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
