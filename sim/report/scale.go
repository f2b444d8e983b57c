package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// arsinhTicks labels an axis of arsinh values with the original values: zero, and a few powers of
// ten with either sign.
type arsinhTicks struct{}

func (arsinhTicks) Ticks(low, high float64) []plot.Tick {
	ticks := []plot.Tick{{Value: 0, Label: "0"}}
	decades := int(math.Ceil(math.Max(math.Abs(low), math.Abs(high)) / math.Ln10))
	every := max(1, decades/3)
	for e := every - 1; e <= decades; e += every {
		for _, sign := range []float64{-1, 1} {
			label := fmt.Sprintf("%g", sign*math.Pow10(e))
			if e > 3 {
				label = fmt.Sprintf("%ge%d", sign, e)
			}
			ticks = append(ticks, plot.Tick{Value: math.Asinh(sign * math.Pow10(e)), Label: label})
		}
	}
	kept := ticks[:0]
	for _, t := range ticks {
		if low <= t.Value && t.Value <= high {
			kept = append(kept, t)
		}
	}
	return kept
}

// tidyTicks returns gonum's ticks for a linear axis. It writes very large and small numbers in the
// form 1e5.
type tidyTicks struct{}

func (tidyTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		ticks[i].Label = tidy(ticks[i].Label)
	}
	return ticks
}

// tidy rewrites the label of a very large or small number in the form 1e5.
func tidy(label string) string {
	x, err := strconv.ParseFloat(label, 64)
	if size := math.Abs(x); err != nil || x == 0 || 1e-4 <= size && size < 1e5 {
		return label
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return label
	}
	return fmt.Sprintf("%se%d", mantissa, e)
}

// LogY makes the vertical axis of p logarithmic if all values on it are positive.
func LogY(p *plot.Plot) { logarithmic(&p.Y) }

// LogX makes the horizontal axis of p logarithmic if all values on it are positive.
func LogX(p *plot.Plot) { logarithmic(&p.X) }

func logarithmic(axis *plot.Axis) {
	if axis.Min <= 0 || math.IsInf(axis.Min, 0) || math.IsInf(axis.Max, 0) {
		return
	}
	if axis.Max/axis.Min < 10 { // make the axis span whole decades, so that it has labels
		axis.Min = math.Pow(10, math.Floor(math.Log10(axis.Min)))
		axis.Max = math.Pow(10, math.Ceil(math.Log10(axis.Max)))
	}
	// If the only value is a power of ten, the limits are equal. gonum would then subtract 1 from
	// the lower limit, which a logarithmic axis does not allow.
	if axis.Min == axis.Max {
		axis.Min, axis.Max = axis.Min/10, axis.Max*10
	}
	axis.Scale = plot.LogScale{}
	axis.Tick.Marker = logTicks{}
}

// logTicks labels at most twelve powers of ten. It marks their multiples 2 to 9 unless the axis
// spans many decades. On an axis of less than two decades it also labels the multiples 2 and 5.
type logTicks struct{}

func (logTicks) Ticks(low, high float64) []plot.Tick {
	from, to := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	every := max(1, (to-from)/6)
	few := high/low < 100
	var ticks []plot.Tick
	for e := from; e <= to; e++ {
		for m := 1; m < 10; m++ {
			x := float64(m) * math.Pow10(e)
			if x < low*(1-1e-9) || x > high*(1+1e-9) || m > 1 && every > 1 {
				continue
			}
			label := ""
			if m == 1 && (e-from)%every == 0 || few && (m == 2 || m == 5) {
				label = shortNumber(m, e)
			}
			ticks = append(ticks, plot.Tick{Value: x, Label: label})
		}
	}
	return ticks
}

// shortNumber formats the number m·10^e.
func shortNumber(m, e int) string {
	if -4 <= e && e <= 3 {
		return fmt.Sprintf("%.4g", float64(m)*math.Pow10(e))
	}
	return fmt.Sprintf("%de%d", m, e)
}
