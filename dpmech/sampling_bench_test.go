package dpmech_test

import (
	"math/rand/v2"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

func perIndex(b *testing.B, indices int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(indices), "ns/index")
}

func BenchmarkSampler(b *testing.B) {
	const n, batch = 39_073, 195
	for _, c := range []struct {
		name     string
		sampling dpmech.Sampling
	}{
		{"fixed/exact", dpmech.WithoutReplacement{Batch: batch}},
		{"fixed/feistel", dpmech.WithoutReplacement{Batch: batch, Selection: dpmech.Feistel}},
		{"fixed/half/exact", dpmech.WithoutReplacement{Batch: n / 2}},
		{"fixed/most/exact", dpmech.WithoutReplacement{Batch: n - batch}},
		{"fixed/most/feistel", dpmech.WithoutReplacement{Batch: n - batch, Selection: dpmech.Feistel}},
		{"poisson/exact", dpmech.Poisson{Rate: batch / float64(n)}},
		{"poisson/feistel", dpmech.Poisson{Rate: batch / float64(n), Selection: dpmech.Feistel}},
		{"allocation/1", dpmech.RandomAllocation{Steps: n / batch, Picks: 1}},
		{"allocation/10", dpmech.RandomAllocation{Steps: n / batch, Picks: 10}},
		{"permutation", dpmech.Permutation{Batches: n / batch}},
		{"full", dpmech.FullBatch{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			sampler := newSampler(b, c.sampling, n)
			src := seeded.Stream(1, "bench")
			dst := make([]uint32, 0, sampler.MaxBatch())
			indices := 0
			b.ReportAllocs()
			for b.Loop() {
				indices += len(sampler.Next(dst, src))
			}
			perIndex(b, indices)
		})
	}
}

// BenchmarkSamplerNaive measures a simple sampler with math/rand, for comparison.
func BenchmarkSamplerNaive(b *testing.B) {
	const n, batch = 39_073, 195
	src := rand.New(rand.NewPCG(1, 2))
	b.Run("map", func(b *testing.B) {
		indices := 0
		for b.Loop() {
			seen := make(map[int]bool, batch)
			for len(seen) < batch {
				seen[src.IntN(n)] = true
			}
			indices += batch
		}
		perIndex(b, indices)
	})
	b.Run("permutation", func(b *testing.B) {
		indices := 0
		for b.Loop() {
			indices += len(src.Perm(n)[:batch])
		}
		perIndex(b, indices)
	})
	b.Run("coin for every record", func(b *testing.B) {
		indices := 0
		for b.Loop() {
			for range n {
				if src.Float64() < batch/float64(n) {
					indices++
				}
			}
		}
		perIndex(b, indices)
	})
}

func BenchmarkStream(b *testing.B) {
	src := seeded.Stream(1, "bench")
	b.Run("Uint64", func(b *testing.B) {
		b.SetBytes(8)
		for b.Loop() {
			src.Uint64()
		}
	})
	b.Run("Fill", func(b *testing.B) {
		words := make([]uint64, 1<<12)
		b.SetBytes(8 << 12)
		for b.Loop() {
			src.Fill(words)
		}
	})
	b.Run("new, one word", func(b *testing.B) {
		for i := uint64(0); b.Loop(); i++ {
			seeded.Rekey(src, 1, "bench", i)
			src.Uint64()
		}
	})
}
