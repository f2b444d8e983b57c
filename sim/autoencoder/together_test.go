package autoencoder

import (
	"math"
	"testing"
)

// Batches of any expected size are larger than what is added up together fewer than once in
// 10^9 times, by the law of Poisson, whose upper tail is the heavier one.
func TestFewBatchesAreLarger(t *testing.T) {
	for batch := 1; batch <= 3600; batch++ {
		s := &Spec{Batch: batch}
		mean, tail := float64(batch), 0.
		for k := float64(s.together() + 1); k < 5000; k++ {
			gamma, _ := math.Lgamma(k + 1)
			tail += math.Exp(k*math.Log(mean) - mean - gamma)
		}
		if tail > 1e-9 {
			t.Errorf("batches of %d: %g are larger than %d", batch, tail, s.together())
		}
	}
}
