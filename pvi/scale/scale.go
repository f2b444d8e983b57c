package scale

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/pvi/study"
)

// A Finding says how the scale of a column was found.
type Finding string

const (
	Found    Finding = "found"    // the noise is small beside the column's spread
	AtMost   Finding = "at most"  // the noise hides the spread: narrower bounds are not supported by the data
	Hidden   Finding = "hidden"   // the noise hides how many records there are: the bounds stay
	Constant Finding = "constant" // the column hardly varies: the bounds stay
	Unopened Finding = "unopened" // the last pass had too few answers: the bounds stay
)

// A Column is the scale of a column after the passes so far. All of it follows from opened sums.
type Column struct {
	Column  string       `json:"column"`
	Mean    float64      `json:"mean"`   // in the column's unit, of values clamped to the bounds of the last pass
	SD      float64      `json:"sd"`     // likewise; 0 if noise alone was seen
	Bounds  study.Bounds `json:"bounds"` // that are mapped to [-1, 1]
	Finding Finding      `json:"finding"`
}

const (
	// narrowest is the smallest part of a column's public width that a scale may
	// have, so that values and sums on it stay far from rounding.
	narrowest = 0x1p-20

	// searched is the share of the values that a search looks for. The bounds become three
	// times as wide as the range of these values.
	searched = 0.98

	// surest is the largest share of the values that a search may miss because of the noise.
	surest = 0.48
)

// A scale is the state of the search for the scale. The server and every site keep equal
// copies, because the scale is computed from opened sums by additions, separately rounded
// products, quotients and roots, which every machine rounds in the same way.
type scale struct {
	scaling *Scaling
	passes  int // that have an outcome
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

// bounds returns the present bounds.
func (c *scale) bounds() []study.Bounds {
	bounds := make([]study.Bounds, len(c.columns))
	for k := range bounds {
		bounds[k] = c.columns[k].Bounds
	}
	return bounds
}

// scaled returns the study on the scale.
func (c *scale) scaled() (*study.Study, error) {
	if c.passes < c.scaling.Passes() {
		return nil, fmt.Errorf("the scale is not found yet: %d of %d passes have an outcome", c.passes, c.scaling.Passes())
	}
	return c.scaling.study.WithScale(c.bounds())
}

// follow narrows the bounds by the sum of the releases of the next pass. clients is the number
// of releases. The sum is nil if the pass was void.
func (c *scale) follow(sum []int64, clients int) {
	c.passes++
	if sum == nil {
		return
	}
	s := c.scaling
	step := s.step(c.passes)
	noise := float64(clients) * step.lattice.Step() // of truncation
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

// search shrinks the bounds to where the values are: the shortest run of bins that contains
// them, as far as the noise on the counts allows, plus the length of that run on either side.
// Bounds that would not be wider than least do not change.
func (c *Column) search(counts []float64, count, noise, least float64) {
	for width := 1; 3*width < len(counts); width++ {
		doubt := 2 * noise * math.Sqrt(float64(width))
		if !(2*doubt <= surest*count) {
			return // wider runs are even less sure
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

// measure moves the bounds of column k to mean ± SDs standard deviations, widened by the
// error that the noise may cause, within the present bounds.
func (c *scale) measure(k int, sums []float64, count, noise float64) {
	column, now := &c.columns[k], c.columns[k].Bounds
	if !(count > 4*noise) {
		column.Finding = Hidden
		return
	}
	mean := min(max(sums[0]/count, -1), 1)
	variance := sums[1]/count - float64(mean*mean)
	slack := 2 * math.Sqrt2 * noise / count          // twice the sd of mean and mean square, count included
	doubt := slack + float64(2*slack*math.Abs(mean)) // of the variance
	spread := math.Sqrt(max(variance, 0) + doubt)    // at most, as far as can be told
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

// narrowest returns the smallest width that the bounds of column k may have.
func (c *scale) narrowest(k int) float64 {
	public := c.scaling.study.PublicScale()[k]
	return narrowest * (public.High - public.Low)
}

// middleOf returns the middle of b.
func middleOf(b study.Bounds) float64 { return b.Low + (b.High-b.Low)/2 }

// restore sets the scale to one that was saved.
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
