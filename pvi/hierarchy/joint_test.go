package hierarchy_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/hierarchy"
)

// jointOf returns the prior of a sample with one effect as a Joint in the log spread.
func (s *sample) jointOf(t *testing.T) *hierarchy.Joint {
	t.Helper()
	d := len(s.prior.Mean)
	e := s.prior.Effects[0]
	joint, err := hierarchy.NewJoint(d+1, d, []int{d}, [][2]float64{{0, 1.5}}, make([]*hierarchy.Single, d+1), func(u []float64) *hierarchy.Normals {
		spread := math.Exp(u[0])
		z := spread / e.Scale
		out := &hierarchy.Normals{Log: u[0] - z*z/2, Mean: make([]float64, d), Root: mat.NewDense(d, d, nil)}
		out.Mean[0] = s.prior.Mean[0]
		out.Root.Set(0, 0, s.prior.SD[0])
		for i := 1; i < d; i++ {
			out.Root.Set(i, i, spread)
		}
		return out
	})
	check(t, err)
	return joint
}

func TestJointIsExact(t *testing.T) {
	for _, c := range []struct {
		n, groups int
		spread    float64
	}{{90, 30, 0.8}, {60, 3, 0.8}, {100, 20, 4}, {6, 5, 0.5}, {100, 10, 0}} {
		s := draw(c.n, c.groups, []float64{c.spread}, 1)
		want, variance := s.exact(150, 5)
		joint, l := s.jointOf(t), s.likelihood()
		got, cov := posteriorOf(t, joint, l, 4*joint.Points())
		for i := range s.prior.Mean {
			sd := math.Sqrt(variance[i])
			if off, ratio := math.Abs(got[i]-want[i])/sd, math.Sqrt(cov.At(i, i))/sd; !(off <= 0.05 && ratio >= 0.95 && ratio <= 1.05) {
				t.Errorf("%+v: coordinate %d is %.4f ± %.4f, want %.4f ± %.4f", c, i, got[i], sd*ratio, want[i], sd)
			}
		}
	}
}

// singles holds log densities on the unconstrained scale: of a half-normal scale, an exponential
// rate, a wide Student t, and a uniform probability.
var singles = map[string]func(x float64) float64{
	"half-normal": func(x float64) float64 { return x - math.Exp(2*x)/2 },
	"exponential": func(x float64) float64 { return x - 0.01*math.Exp(x) },
	"student":     func(x float64) float64 { z := (x - 40) / 1000; return -2.5 * math.Log1p(z*z/4) },
	"uniform":     func(x float64) float64 { return -math.Log1p(math.Exp(-x)) - math.Log1p(math.Exp(x)) },
}

// The likelihood depends on a [hierarchy.Single] and a normal coordinate. Expectation propagation
// is not exact, so a tenth of an sd is allowed.
func TestSinglesAgainstQuadrature(t *testing.T) {
	for name, log := range singles {
		single := hierarchy.NewSingle(log)
		centre, sd := single.Moments()
		for _, information := range []float64{0, 0.3, 3, 300} {
			joint, err := hierarchy.NewJoint(2, 2, nil, nil, []*hierarchy.Single{single, nil}, func([]float64) *hierarchy.Normals {
				return &hierarchy.Normals{Mean: []float64{0, 1}, Root: mat.NewDense(2, 2, []float64{0, 0, 0, 2})}
			})
			check(t, err)
			k := mat.NewSymDense(2, []float64{information / (sd * sd), 0.5 * information / sd / 2, 0.5 * information / sd / 2, information / 4})
			at := mat.NewVecDense(2, []float64{centre + sd, 2})
			var h mat.VecDense
			h.MulVec(k, at)
			l := &hierarchy.Likelihood{Precision: k, Linear: h.RawVector().Data}
			got, cov := posteriorOf(t, joint, l, 1)
			mean, deviation := quadrature(log, l, got[0], math.Sqrt(cov.At(0, 0)))
			if off, ratio := math.Abs(got[0]-mean)/deviation, math.Sqrt(cov.At(0, 0))/deviation; !(off <= 0.1 && ratio >= 0.9 && ratio <= 1.1) {
				t.Errorf("%s, information %v: %.4g ± %.4g, want %.4g ± %.4g", name, information, got[0], math.Sqrt(cov.At(0, 0)), mean, deviation)
			}
		}
	}
}

// quadrature returns the moments of the first coordinate. The second, N(1, 2²), is integrated out
// in closed form.
func quadrature(log func(float64) float64, l *hierarchy.Likelihood, centre, sd float64) (mean, deviation float64) {
	const points, most = 200_001, 40.0
	var total, squares float64
	a := 0.25 + l.Precision.At(1, 1)
	density := func(x float64) float64 {
		b := 0.25 + l.Linear[1] - l.Precision.At(0, 1)*x
		return log(x) + l.Linear[0]*x - l.Precision.At(0, 0)*x*x/2 + b*b/(2*a)
	}
	top := math.Inf(-1)
	for i := range points {
		top = math.Max(top, density(centre+sd*most*(2*float64(i)/(points-1)-1)))
	}
	for i := range points {
		x := centre + sd*most*(2*float64(i)/(points-1)-1)
		w := math.Exp(density(x) - top)
		total, mean, squares = total+w, mean+w*x, squares+w*x*x
	}
	mean /= total
	return mean, math.Sqrt(squares/total - mean*mean)
}
