package gpu

import (
	"errors"
	"fmt"
	"math"
)

// MeanFieldOptions are the options of a [MeanField], which maximises the local free energy
//
//	Σ_n E_q[ℓ_n] − KL(q ‖ cavity)
//
// where ℓ_n is the log likelihood of record n, q is N(m, diag s²) with s = e^ρ, and the cavity is the
// Gaussian that takes the place of the prior.
type MeanFieldOptions struct {
	// Draws is the number K of draws θ = m + s∘ε in a step, where m and s are the means and
	// standard deviations of q and ε is standard normal. All records of a step use the same draws.
	Draws int
	// Joint is true if records contribute the gradient with respect to (m, ρ), as in the published
	// algorithms. Otherwise they contribute only the gradient with respect to m. Because the
	// gradient with respect to ρ is s∘ε times that gradient, it can be computed from the released
	// sum.
	Joint bool
	// If Preconditioned is true, the gradient with respect to ρ is divided by s before clipping,
	// and multiplied by s after the noise has been added. Otherwise, this gradient would be small
	// compared with the noise where s is small. Preconditioned requires Joint.
	Preconditioned bool
	// If Inside is true, the gradient of −KL(q ‖ cavity), divided by Records, is added to every
	// record's contribution before clipping, as in the published algorithm. Inside requires Joint.
	Inside  bool
	Records float64
	// Clip is the bound on the norm of a record's contribution. +Inf means no bound.
	Clip float64
	// Rate is the probability that a record is in a batch. Sums are divided by Rate, and never by
	// the batch size, which is private.
	Rate float64
	// CavityMean and CavityPrecision are the mean and the precision of the cavity in each
	// coordinate.
	CavityMean, CavityPrecision []float64
	// Optimiser moves the point (m, ρ), which has two numbers per coordinate of θ. A run has Steps
	// steps, whose sizes come from Schedule.
	Optimiser Optimiser
	Schedule  Schedule
	Steps     int
	// Average is the share of the steps, counted from the end, over which [MeanField.Averaged]
	// averages m and ρ.
	Average float64
}

// MeanField is a run of stochastic variational inference. A step is
//
//	q := run.Next(normals, batch)  // the points and the batch
//	...                            // the clipped sum over the batch, with noise
//	run.Update(sum)
//
// Between the two calls a mechanism clips the contributions, adds noise and releases the sum. A
// step allocates no memory.
type MeanField struct {
	o       MeanFieldOptions
	d, step int
	// point has the elements of m, followed by those of ρ. gradient is the gradient with respect to
	// (m, ρ), and total is the sum of the points that count for the average.
	point, gradient, total []float64
	averaged               int
	sd                     []float64
	epsilon                [][]float64
	query                  Query
}

// NewMeanField starts a run. It copies the given means and standard deviations.
func NewMeanField(mean, sd []float64, o MeanFieldOptions) (*MeanField, error) {
	d := len(mean)
	if err := o.check(d); err != nil {
		return nil, fmt.Errorf("mean field: %w", err)
	}
	if len(sd) != d {
		return nil, errors.New("mean field: means and standard deviations differ in number")
	}
	r := &MeanField{
		o: o, d: d, point: make([]float64, 2*d), gradient: make([]float64, 2*d), total: make([]float64, 2*d),
		sd: make([]float64, d),
	}
	copy(r.point, mean)
	for i, s := range sd {
		if !(s > 0) || math.IsInf(s, 0) {
			return nil, errors.New("mean field: a standard deviation is not positive and finite")
		}
		r.point[d+i] = math.Log(s)
	}
	r.query.Clip = o.Clip
	for range o.Draws {
		r.query.Draws = append(r.query.Draws, make([]float64, d))
		r.epsilon = append(r.epsilon, make([]float64, d))
		if o.Joint {
			r.query.Joint = append(r.query.Joint, make([]float64, d))
		}
	}
	if o.Inside {
		r.query.Inside = make([]float64, r.query.Size(d))
	}
	return r, nil
}

func (o *MeanFieldOptions) check(d int) error {
	switch {
	case d == 0 || len(o.CavityMean) != d || len(o.CavityPrecision) != d:
		return errors.New("the cavity needs a mean and a precision for each of at least one coordinate")
	case o.Draws < 1:
		return errors.New("at least one draw is needed")
	case !(o.Rate > 0 && o.Rate <= 1):
		return fmt.Errorf("the sampling rate must be in (0, 1], got %g", o.Rate)
	case !(o.Clip > 0):
		return fmt.Errorf("the clip must be positive (infinite for none), got %g", o.Clip)
	case o.Inside && (!o.Joint || !(o.Records > 0)):
		return errors.New("the divergence can be inside the clip only with joint gradients and a number of records")
	case o.Preconditioned && (!o.Joint || o.Inside):
		return errors.New("preconditioned gradients need joint gradients with the divergence outside the clip")
	case o.Optimiser == nil || o.Schedule == nil || o.Steps < 1:
		return errors.New("an optimiser, a schedule and a number of steps are needed")
	case !(o.Average >= 0 && o.Average <= 1):
		return fmt.Errorf("the share of steps to average must be in [0, 1], got %g", o.Average)
	}
	return nil
}

// Next begins a step. It draws ε and returns the query for the gradients of the batch's records at
// θ = m + s∘ε. The function normals must fill dst with independent standard normal numbers. ε need
// not be secret. The query is valid until the next call of Next.
func (r *MeanField) Next(normals func(dst []float64), batch []int32) *Query {
	for i, rho := range r.point[r.d:] {
		r.sd[i] = math.Exp(rho)
	}
	for k, theta := range r.query.Draws {
		epsilon := r.epsilon[k]
		normals(epsilon)
		for i, e := range epsilon {
			theta[i] = r.point[i] + r.sd[i]*e
			switch {
			case r.o.Preconditioned:
				r.query.Joint[k][i] = e
			case r.o.Joint:
				r.query.Joint[k][i] = r.sd[i] * e
			}
		}
		if r.o.Inside {
			r.divergence(r.query.Inside[2*r.d*k:][:2*r.d], 1/r.o.Records)
		}
	}
	r.query.Batch = batch
	return &r.query
}

// divergence writes the gradient of −scale·KL(q ‖ cavity) with respect to (m, ρ) to dst.
func (r *MeanField) divergence(dst []float64, scale float64) {
	for i, b := range r.o.CavityPrecision {
		dst[i] = -scale * b * (r.point[i] - r.o.CavityMean[i])
		dst[r.d+i] = scale * r.sd[i] * (1/r.sd[i] - b*r.sd[i])
	}
}

// Update ends a step: it moves q along the gradient. sum is the noisy sum of the contributions to
// the last query. Update panics if sum has the wrong length.
func (r *MeanField) Update(sum []float64) {
	if len(sum) != r.query.Size(r.d) {
		panic("mean field: the length of the sum differs from that of a contribution")
	}
	if r.o.Inside {
		clear(r.gradient)
	} else {
		r.divergence(r.gradient, 1)
	}
	r.addData(sum, 1/(r.o.Rate*float64(r.o.Draws)))
	r.o.Optimiser.Step(r.point, r.gradient, r.o.Schedule.Rate(r.step, r.o.Steps))
	r.step++
	if r.o.Averages(r.step - 1) {
		r.averaged++
		for i, x := range r.point {
			r.total[i] += x
		}
	}
}

// Averages reports whether the point after step t counts for the average of [MeanField.Averaged].
// The first step has t = 0.
func (o *MeanFieldOptions) Averages(t int) bool {
	return float64(o.Steps-t-1) < o.Average*float64(o.Steps)
}

// addData adds the part of the gradient that comes from the data to r.gradient. sum is the noisy
// sum of contributions. scale converts it to the gradient of the expected log likelihood of all
// records.
func (r *MeanField) addData(sum []float64, scale float64) {
	one := len(sum) / len(r.epsilon)
	for k, epsilon := range r.epsilon {
		sum := sum[k*one:]
		for i := range r.d {
			g := scale * sum[i]
			r.gradient[i] += g
			switch {
			case r.o.Preconditioned:
				r.gradient[r.d+i] += scale * r.sd[i] * sum[r.d+i]
			case r.o.Joint:
				r.gradient[r.d+i] += scale * sum[r.d+i]
			default:
				r.gradient[r.d+i] += r.sd[i] * epsilon[i] * g
			}
		}
	}
}

// Step returns the number of steps so far.
func (r *MeanField) Step() int { return r.step }

// Last writes the current mean and standard deviations of q.
func (r *MeanField) Last(mean, sd []float64) { r.write(mean, sd, r.point, 1) }

// Averaged writes the mean and the standard deviations of q at the average of the points (m, ρ)
// over the last steps (see [MeanFieldOptions.Average]). Before the first of these steps, it writes
// the current values.
func (r *MeanField) Averaged(mean, sd []float64) {
	if r.averaged == 0 {
		r.Last(mean, sd)
		return
	}
	r.write(mean, sd, r.total, 1/float64(r.averaged))
}

func (r *MeanField) write(mean, sd, point []float64, scale float64) {
	for i := range r.d {
		mean[i] = scale * point[i]
		sd[i] = math.Exp(scale * point[r.d+i])
	}
}
