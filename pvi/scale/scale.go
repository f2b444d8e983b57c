package scale

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/pvi/study"
)

// A Finding describes how the scale of a column was found.
type Finding string

const (
	Found    Finding = "found"    // the noise is small compared to the spread
	AtMost   Finding = "at most"  // the noise hides the spread, which may be smaller
	Hidden   Finding = "hidden"   // the noise hides the number of records: the bounds do not change
	Constant Finding = "constant" // the column hardly varies: the bounds do not change
	Unopened Finding = "unopened" // the last pass had too few answers: the bounds do not change
)

// A Column describes the scale of a column after the passes so far.
type Column struct {
	Column  string       `json:"column"`
	Mean    float64      `json:"mean"`   // mean of the clamped values, in the column's unit
	SD      float64      `json:"sd"`     // estimated sd of the clamped values, or 0 if noise made the variance negative
	Bounds  study.Bounds `json:"bounds"` // bounds that are mapped to [-1, 1]
	Finding Finding      `json:"finding"`
}

const (
	// narrowest is the smallest width of a scale, relative to the public width. Rounding has no
	// effect down to this width.
	narrowest = 0x1p-20

	// searched is the share of the values that a search tries to cover. The new bounds are three
	// times as wide as these values.
	searched = 0.98

	// surest is the largest share of the values that a search may miss because of the noise.
	surest = 0.48
)

// A scale holds the bounds so far. All machines compute equal copies, because they round every
// operation by itself.
type scale struct {
	scaling *Scaling
	passes  int // passes with an outcome
	columns []Column
}

func newScale(s *Scaling) *scale {
	c := &scale{scaling: s}
	for k, b := range s.study.PublicScale() {
		name := s.study.Columns[s.study.Standardisation.Columns[k]].Name
		c.columns = append(c.columns, Column{Column: name, Bounds: b, Finding: Unopened})
	}
	return c
}

func (c *scale) bounds() []study.Bounds {
	bounds := make([]study.Bounds, len(c.columns))
	for k := range bounds {
		bounds[k] = c.columns[k].Bounds
	}
	return bounds
}

// scaled returns the study with the scale that was found. Every pass must have an outcome.
func (c *scale) scaled() (*study.Study, error) {
	if c.passes < c.scaling.Passes() {
		return nil, fmt.Errorf("the scale is not found yet: %d of %d passes have an outcome", c.passes, c.scaling.Passes())
	}
	return c.scaling.study.WithScale(c.bounds())
}

// follow updates the bounds with the sum of the next pass, or with nil for a void one. clients is
// the number of answers.
func (c *scale) follow(sum []int64, clients int) {
	c.passes++
	if sum == nil {
		return
	}
	s := c.scaling
	step := s.step(c.passes)
	// Without a mechanism, noise is the largest error from rounding to the lattice.
	noise := float64(clients) * step.lattice.Step()
	if step.mechanism != nil {
		noise = step.lattice.Float(step.mechanism.ShareSigma()) * math.Sqrt(float64(clients))
	}
	count := float64(clients)
	if s.first() == 1 {
		count = step.lattice.Float(sum[0])
	}
	for k := range c.columns {
		part := make([]float64, step.perColumn)
		for i := range part {
			part[i] = step.lattice.Float(sum[s.first()+k*step.perColumn+i])
		}
		if step == &s.search {
			c.columns[k].search(part, count, noise, c.narrowest(k))
		} else {
			c.measure(k, part, count, noise)
		}
	}
}

// search narrows the bounds of c to the shortest range of bins that holds most values, extended on
// either side by its length: its noisy count is at least the fraction searched of all values, minus
// two sds of its noise. The bounds stay if the noise is too large, or if the new ones would not be
// wider than least.
func (c *Column) search(counts []float64, count, noise, least float64) {
	for width := 1; 3*width < len(counts); width++ {
		doubt := 2 * noise * math.Sqrt(float64(width))
		if !(2*doubt <= surest*count) {
			return // wider ranges have larger errors
		}
		most, at := math.Inf(-1), 0
		for i := range len(counts) - width + 1 {
			var held float64
			for _, n := range counts[i : i+width] {
				held += n
			}
			if held > most {
				most, at = held, i
			}
		}
		if most < float64(searched*count)-doubt {
			continue
		}
		bin := (c.Bounds.High - c.Bounds.Low) / float64(len(counts))
		found := study.Bounds{
			Low:  max(c.Bounds.Low, c.Bounds.Low+float64(bin*float64(at-width))),
			High: min(c.Bounds.High, c.Bounds.Low+float64(bin*float64(at+2*width))),
		}
		if found.High-found.Low > least {
			c.Bounds = found
		}
		return
	}
}

// measure computes the final bounds of column k: mean ± the study's number of sds, widened by the
// possible error from noise, within the present bounds. The bounds stay if noise hides the number
// of records (Hidden), or if the column hardly varies (Constant).
func (c *scale) measure(k int, sums []float64, count, noise float64) {
	column, now := &c.columns[k], c.columns[k].Bounds
	if !(count > 4*noise) {
		column.Finding = Hidden
		return
	}
	mean := min(max(sums[0]/count, -1), 1)
	variance := sums[1]/count - float64(mean*mean)
	slack := 2 * math.Sqrt2 * noise / count          // two sds of the noise in mean and mean square
	doubt := slack + float64(2*slack*math.Abs(mean)) // possible error of the variance
	spread := math.Sqrt(max(variance, 0) + doubt)    // largest sd that the noisy sums allow
	half, middle := (now.High-now.Low)/2, middleOf(now)
	reach := float64(c.scaling.study.Standardisation.SDs*spread) + slack

	column.Mean = middle + float64(half*mean)
	column.SD = float64(half * math.Sqrt(max(variance, 0)))
	column.Finding = Found
	if variance <= doubt {
		column.Finding = AtMost
	}
	found := study.Bounds{
		Low:  max(now.Low, middle+float64(half*(mean-reach))),
		High: min(now.High, middle+float64(half*(mean+reach))),
	}
	exact := c.scaling.study.Privacy.Unit == study.None
	if exact && variance <= doubt || !(found.High-found.Low > c.narrowest(k)) {
		column.Finding = Constant
		return
	}
	column.Bounds = found
}

func (c *scale) narrowest(k int) float64 {
	public := c.scaling.study.PublicScale()[k]
	return narrowest * (public.High - public.Low)
}

func middleOf(b study.Bounds) float64 { return b.Low + (b.High-b.Low)/2 }

func (c *scale) restore(passes int, columns []Column) error {
	if len(columns) != len(c.columns) {
		return fmt.Errorf("the state has %d columns, want %d", len(columns), len(c.columns))
	}
	bounds := make([]study.Bounds, len(columns))
	for k, column := range columns {
		if column.Column != c.columns[k].Column {
			return errors.New("the state has other columns")
		}
		bounds[k] = column.Bounds
	}
	if _, err := c.scaling.study.WithScale(bounds); err != nil {
		return err
	}
	c.passes = passes
	copy(c.columns, columns)
	return nil
}
