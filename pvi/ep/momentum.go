package ep

// A glide finds the mean of q in a diagonal family. It takes short steps with momentum (Polyak,
// "Some methods of speeding up the convergence of iteration methods", 1964), and averages the
// means. Decreasing steps would stop too early where coordinates depend strongly on each other.
// Constant steps leave noise in the mean, most of which the average removes.
type glide struct {
	velocity []float64 // velocity of q's mean
	average  []float64 // average of q's means
}

func newGlide(d int) glide { return glide{make([]float64, d), make([]float64, d)} }

// step adds momentum to f.sum, the factor after a plain step, and updates the average of q's means.
// If moves is false, the factor does not change, and the velocity becomes zero.
func (f *tied) step(moves bool) {
	g, o, d := &f.glide, f.options, len(f.around)
	momentum, settling := o.momentum(f.since-1), o.settling(f.since-1)
	for i, centre := range f.cavity.Mean {
		// gap is q's mean before the step minus the cavity's mean, and precision is the precision
		// of q after the step.
		others := f.outer[i] - f.outer[d+i]*centre
		gap := (f.own[i] + others) / (f.own[d+i] + f.outer[d+i])
		precision := f.sum[d+i] + f.outer[d+i]
		if moves {
			if o.Least != nil && precision < o.Least[i] {
				f.sum[i] = f.own[i] + (f.sum[i]-f.own[i])*precision/o.Least[i]
			}
			f.sum[i] += momentum * precision * g.velocity[i]
			next := (f.sum[i] + others) / precision
			g.velocity[i] = next - gap
			gap = next
		} else {
			g.velocity[i] = 0
		}
		g.average[i] += settling * (centre + gap - g.average[i])
	}
}

// settle sets the factor's precision times mean so that q gets the mean g.average.
func (g *glide) settle(factor, outer []float64) {
	d := len(g.average)
	for i, mean := range g.average {
		factor[i] = (factor[d+i]+outer[d+i])*mean - outer[i]
	}
}
