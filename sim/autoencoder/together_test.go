package autoencoder

import (
	"math"
	"testing"
)

// At most one batch in 10^9 may have more records than together returns. The test uses the Poisson
// distribution, whose upper tail is heavier than that of the binomial distribution.
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
