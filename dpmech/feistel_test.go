package dpmech_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

var rewrite = flag.Bool("rewrite", false, "write the vectors of testdata anew, from the plain implementation of docs/prove/feistel.md")

// specified computes a batch. It follows docs/prove/feistel.md line by line.
func specified(records, batch int, key []uint64) []uint32 {
	k := 8
	for 1<<k < records {
		k++
	}
	l, r, rounds := k/2, k-k/2, 10
	if records < 256 {
		rounds = 12
	}
	round := func(i int, h uint64) uint64 {
		y := (key[3*i]*h + key[3*i+1]) >> 32
		y ^= y >> 16
		return y * (key[3*i+2]&0xffffffff | 1) % (1 << 32)
	}
	mask := func(w int) uint64 { return (1<<w - 1) << (32 - w) }
	var dst []uint32
	for x := uint64(0); len(dst) < batch; x++ {
		left, right := x>>r<<(32-l)%(1<<32), x<<(32-r)%(1<<32)
		for i := 0; i < rounds; i += 2 {
			left ^= round(i, right) & mask(l)
			right ^= round(i+1, left) & mask(r)
		}
		if y := left>>(32-l)<<r | right>>(32-r); y < uint64(records) {
			dst = append(dst, uint32(y))
		}
	}
	return dst
}

func feistelKey(records int, index uint64) []uint64 {
	key := make([]uint64, dpmech.FeistelKey(records))
	seeded.Stream(4, "feistel", uint64(records), index).Fill(key)
	return key
}

// A feistelVector is a case in testdata/feistel.json. The words of the key are in hexadecimal,
// because JSON numbers have only 53 bits.
type feistelVector struct {
	Records int      `json:"records"`
	Key     []string `json:"key"`
	Batch   []uint32 `json:"batch"`
}

func TestFeistelVectors(t *testing.T) {
	path := filepath.Join("testdata", "feistel.json")
	if *rewrite {
		writeFeistelVectors(t, path)
	}
	raw, err := os.ReadFile(path)
	check(t, err)
	var vectors []feistelVector
	check(t, json.Unmarshal(raw, &vectors))
	for _, v := range vectors {
		var key []uint64
		for _, word := range v.Key {
			var w uint64
			if _, err := fmt.Sscanf(word, "%x", &w); err != nil {
				t.Fatal(err)
			}
			key = append(key, w)
		}
		if got := dpmech.FeistelBatch(v.Records, len(v.Batch), key); !slices.Equal(got, v.Batch) {
			t.Errorf("%d records: batch %v, want %v", v.Records, got, v.Batch)
		}
	}
}

func writeFeistelVectors(t *testing.T, path string) {
	t.Helper()
	var vectors []feistelVector
	for _, n := range []int{1, 2, 3, 7, 255, 256, 1000, 39_073, 1 << 20, 1<<31 - 1, 1 << 31} {
		v := feistelVector{Records: n, Batch: specified(n, min(n, 12), feistelKey(n, 0))}
		for _, word := range feistelKey(n, 0) {
			v.Key = append(v.Key, fmt.Sprintf("%016x", word))
		}
		vectors = append(vectors, v)
	}
	raw, err := json.MarshalIndent(vectors, "", " ")
	check(t, err)
	check(t, os.WriteFile(path, append(raw, '\n'), 0o644))
}

// The permutation must agree with an implementation that follows the specification line by line. A
// batch of all records must be a permutation of the records.
func TestFeistelIsSpecified(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 8, 9, 31, 100, 255, 256, 257, 1000, 4096, 39_073, 70_000} {
		for index := range uint64(3) {
			key := feistelKey(n, index)
			all := dpmech.FeistelBatch(n, n, key)
			if want := specified(n, n, key); !slices.Equal(all, want) {
				t.Fatalf("%d records: the network differs from docs/prove/feistel.md", n)
			}
			slices.Sort(all)
			for i, record := range all {
				if int(record) != i {
					t.Fatalf("%d records: a batch of all lacks %d", n, i)
				}
			}
		}
	}
	for _, n := range []int{1 << 24, 1<<24 + 1, 1 << 31} {
		key := feistelKey(n, 0)
		if got, want := dpmech.FeistelBatch(n, 500, key), specified(n, 500, key); !slices.Equal(got, want) {
			t.Fatalf("%d records: the network differs from docs/prove/feistel.md", n)
		}
	}
}

// The key must be the next words of the stream, in the order that docs/prove/feistel.md gives.
func TestFeistelKeySchedule(t *testing.T) {
	const n, batch = 1000, 20
	sampler := newSampler(t, dpmech.WithoutReplacement{Batch: batch, Selection: dpmech.Feistel}, n)
	src, copied := seeded.Stream(4, "schedule"), seeded.Stream(4, "schedule")
	for range 3 {
		key := make([]uint64, dpmech.FeistelKey(n))
		for i := range key {
			key[i] = copied.Uint64()
		}
		if got, want := sampler.Next(nil, src), specified(n, batch, key); !slices.Equal(got, want) {
			t.Fatalf("batch %v, want %v", got, want)
		}
	}
}
