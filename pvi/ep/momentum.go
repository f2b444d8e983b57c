package ep

// A glide is how the mean of a diagonal q moves where coordinates move together: by short steps with
// momentum (Polyak, "Some methods of speeding up the convergence of iteration methods",
// 1964), whose iterates are averaged. Steps that become shorter, as those of an average of
// sums do, come to a stop on the way along directions in which coordinates hold each other
// back; these do not, and the average of q's means takes out the noise that they keep.
type glide struct {
	velocity []float64 // of the mean
	average  []float64 // of means
}

func newGlide(d int) glide { return glide{make([]float64, d), make([]float64, d)} }

// step turns sum, the factor around the cavity's mean that a plain step leads to, into the one
// that the momentum leads to, and averages the means. If the factor does not move it
// says so, and the velocity is none.
func (f *tied) step(moves bool) {
	g, o, d := &f.glide, f.options, len(f.zero)
	momentum, settling := o.momentum(f.since-1), o.settling(f.since-1)
	for i, centre := range f.cavity.Mean {
		// The gap from the centre, and precisions, of q: before and after.
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

// settle gives the factor beside the others' the averaged mean.
func (g *glide) settle(factor, outer []float64) {
	d := len(g.average)
	for i, mean := range g.average {
		factor[i] = (factor[d+i]+outer[d+i])*mean - outer[i]
	}
}
