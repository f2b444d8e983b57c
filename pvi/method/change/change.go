// Package change is the method for studies whose privacy unit is the client. A client releases the
// clipped change of its factor plus its share of the noise, and only the sum over clients is
// opened. The client's own solver uses the records without noise.
package change

import (
	"math"

	"fedpvi/dpmech"
	"fedpvi/internal/special"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Method implements [method.Method] for studies in which a client releases the clipped change of
// its factor.
type Method struct {
	*method.Sum
	method.Moves
}

// New returns a function that makes the study's method from a noise multiplier, a [method.Draft].
func New(s *method.Setting) (method.Draft, error) {
	return func(multiplier float64) (method.Method, error) {
		m := &Method{Moves: method.Moves{Coordinates: s.Coordinates}}
		var err error
		m.Sum, err = s.NewSum(dpmech.Config{
			Dim:             s.Family.Size(),
			Clip:            s.ChangeClip(),
			NoiseMultiplier: multiplier,
			Shares:          s.Shares(),
			Terms:           1,
			Releases:        s.Clients,
		}, s.Study.Inference.Rounds)
		if err != nil {
			return nil, err
		}
		if err := m.SetMessages(s.HiddenMessages(m.Mechanism())); err != nil {
			return nil, err
		}
		if s.Study.Inference.Factors == study.Published {
			return published{m}, nil
		}
		return m, nil
	}, nil
}

// doubt is the ratio of signal to noise below which a forecast is doubtful.
//
//   - The signal is the largest possible sum of changes, spread evenly over d directions: L/√d for
//     a sum of norm L.
//   - The noise is the amount by which noise may lower the precision in one direction. In a full
//     d×d precision with noise of sd s, eigenvalues go down to −2s√d, and in a diagonal one,
//     elements down to about −2s. Here s is for one round or for the final λ, whichever is larger.
//
// The constant was chosen by the shares of rounds that were rejected. In the demonstration, with d
// = 7 and ratios of 1, 1.3, 1.6 and 2.3 (ε of 0.6, 0.8, 1 and 1.5), these were 42 %, 16 %, 4 % and
// 1 %. In the case study, with d = 1, no round was rejected at a ratio of 1.
const doubt = 1.9

// Forecast implements [method.Method].
func (m *Method) Forecast() method.Forecast {
	f := m.NewForecast(m.Noise())
	f.Noise *= method.Settled(m.Study.Inference)
	f.Largest *= float64(m.Clients)
	d := float64(m.Model.Dim())
	taken := 2 * max(f.Round, f.Noise)
	if m.Family.Name() == "full" {
		taken *= math.Sqrt(d)
	}
	f.Doubtful = f.Largest/math.Sqrt(d) < doubt*taken
	return f
}

// NewClient implements [method.Method].
func (m *Method) NewClient(s *shard.Shard) (method.Client, error) { return method.NewRefined(m, s) }

// NewSolverClient implements [method.Refining].
func (m *Method) NewSolverClient(s solver.Solver) method.Client { return m.newClient(s) }

func (m *Method) newClient(s solver.Solver) *client {
	return &client{
		Refiner: m.NewRefiner(m.Messages().Exponent, s), method: m,
		exact: make([]int64, m.Family.Size()),
	}
}

type client struct {
	*method.Refiner
	method *Method
	noise  dpmech.Noise
	exact  []int64 // clipped change without noise, which will be added to the factor
}

// Release implements [method.Client]. The client remembers the clipped change without noise.
func (c *client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	if err := c.release(dst, t, src); err != nil {
		return true, err
	}
	copy(c.Proposed, c.exact)
	return true, nil
}

func (c *client) release(dst []int64, t *method.Task, src *dpmech.Stream) error {
	m := c.method
	c.Charged.Changes++
	m.Mechanism().Draw(&c.noise, src)
	change, err := c.ProposeAlways(t, src)
	if err != nil {
		return err
	}
	m.Setting.Coordinates.FromNatural(change, t.Centre)
	// An infinite or NaN change counts as zero, because an error would reveal private information.
	if !special.Finite(change) {
		clear(change)
	}
	return m.Mechanism().ReleaseOne(dst, c.exact, &c.noise, change)
}

func (c *client) Check(m *method.Memory, answered int) error {
	most := min(c.method.Releases(), answered)
	return c.CheckRefined(m, method.CheckSpent(m.Spent, most, 0, answered > 0))
}
