package ep

import (
	"math"
	"testing"
)

// The test adds noise of variance 1 to one step at a time and follows it through steps, momentum
// and average. The squares add up to MeanNoiseLeft, which without overlap equals NoiseLeft.
func TestMeanNoiseIsThatOfTheSteps(t *testing.T) {
	const steps = 60
	for _, o := range []SEPOptions{
		{Rate: 1, StepSize: 1, Recency: 1},
		{Rate: 1, StepSize: 1, Recency: 1, Overlap: 4},
		{Rate: 0.2, StepSize: 0.5},
		{Rate: 1, StepSize: 1, Recency: 1, Overlap: 5, Glide: true},
		{Rate: 0.25, StepSize: 0.7, Recency: 3, Overlap: 12, Glide: true},
	} {
		var want float64
		for noisy := range steps {
			var mean, before, average float64
			for n := range steps {
				noise := 0.0
				if n == noisy {
					noise = 1
				}
				next := mean + o.moving(n)*(noise-mean) + o.momentum(n)*(mean-before)
				mean, before = next, mean
				average += o.settling(n) * (mean - average)
			}
			want += average * average
		}
		if got := o.MeanNoiseLeft(steps); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%+v: variance %g is left, want %g", o, got, want)
		}
		var weights float64
		for n := range steps {
			weights += o.settling(n)
		}
		if !o.Glide && weights != steps {
			t.Errorf("%+v: means are averaged", o)
		}
	}
	plain := SEPOptions{Rate: 1, StepSize: 1, Recency: 1}
	if got, want := plain.MeanNoiseLeft(steps), plain.NoiseLeft(steps); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("variance %g is left, of an average of sums %g", got, want)
	}
}
