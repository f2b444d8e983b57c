package steps

import (
	"errors"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/solver"
)

// A Client takes private steps and sends the factor that it computes from them.
type Client struct {
	*method.Refiner
	of   method.Stepped
	base *Base
}

// NewClient returns the part of a method with base b that runs at a client.
func NewClient(of method.Stepped, b *Base, s solver.Solver) *Client {
	return &Client{Refiner: b.NewRefiner(of.Messages().Exponent, s), of: of, base: b}
}

// Release implements [method.Client].
func (c *Client) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	before := c.Charged
	change, err := c.Propose(t, src, &c.Charged)
	drawn = c.Charged != before
	if err != nil {
		return drawn, err
	}
	m := c.of.Messages()
	shorten(change, m.Lattice.Float(m.Limit()), c.base.Family.Dim(), c.base.Family.Name() == "diagonal")
	return drawn, c.SendFactor(dst, change, m)
}

// shorten scales down the change of a factor with d coordinates so that no element exceeds room,
// the largest value that fits into a message. If diagonal is true, each coordinate is scaled
// separately, and the new factor lies between the current one and the proposed one. The result
// depends on the records only through releases.
func shorten(change []float64, room float64, d int, diagonal bool) {
	if !diagonal {
		shortenAll(change, room)
		return
	}
	for i := range d {
		if size := math.Max(math.Abs(change[i]), math.Abs(change[d+i])); size >= room {
			factor := room / size * (1 - 0x1p-50)
			change[i] *= factor
			change[d+i] *= factor
		}
	}
}

func shortenAll(change []float64, room float64) {
	var size float64
	for _, x := range change {
		size = math.Max(size, math.Abs(x))
	}
	if size >= room {
		for i := range change {
			change[i] *= room / size * (1 - 0x1p-50)
		}
	}
}

// Ahead implements [method.Client].
func (c *Client) Ahead() int {
	next := c.of.Steps().Round
	if _, ok := c.of.Start(); ok && c.Charged.Statistics == 0 {
		next++
	}
	return next
}

// Check implements [method.Client].
func (c *Client) Check(m *method.Memory, answered int) error {
	most := c.of.ReleasesAfter(c.base.Round(answered))
	err := method.CheckSpent(m.Spent, 0, most, answered > 0)
	if err == nil && (len(m.Solver) > 0) != (m.Spent.Statistics > 0) {
		err = errors.New("steps were charged but are missing, or are present but were not charged")
	}
	return c.CheckRefined(m, err)
}
