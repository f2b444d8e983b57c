package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"fedpvi/accountant"
	"fedpvi/sim/calculator"
)

// leastShown is the lowest false-positive rate that [TradeOff] plots.
const leastShown = 1e-6

// TradeOff plots an upper bound on the true-positive rate of attacks against the false-positive
// rate. It also shows the bound that follows from (ε, δ) alone, and the line of random guesses.
func TradeOff(a *calculator.Answer) (Figure, error) {
	var fprs []float64
	for e := math.Log10(leastShown); e < -0.6; e += 0.5 {
		fprs = append(fprs, math.Pow(10, e))
	}
	fprs = append(fprs, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
	curve, err := a.Profile.TradeOff(fprs)
	if err != nil {
		return Figure{}, err
	}
	var upper, lower, promise, guess plotter.XYs
	apart := 0.0
	for i, b := range curve {
		x := fprs[i]
		upper = append(upper, plotter.XY{X: x, Y: b.Upper})
		lower = append(lower, plotter.XY{X: x, Y: b.Lower})
		apart = max(apart, b.Upper/b.Lower-1)
		guess = append(guess, plotter.XY{X: x, Y: x})
	}
	if a.EpsilonUpper != nil {
		for i := range 400 {
			x := math.Pow(leastShown, float64(i)/399)
			promise = append(promise, plotter.XY{X: x, Y: accountant.TruePositiveRateBound(*a.EpsilonUpper, *a.Delta, x)})
		}
	}
	one := plotter.XY{X: 1, Y: 1}
	upper, lower, guess = append(upper, one), append(lower, one), append(guess, one)
	p := newSketch("What an attacker recognises", "false-positive rate", "true-positive rate")
	p.Legend.Add("no attack does better", p.line(upper, Palette[0], 1.5, Dashes[0]))
	if apart > 0.02 {
		p.Legend.Add("some attack does as well", p.line(lower, Palette[2], 1.5, Dashes[2]))
	}
	if a.EpsilonUpper != nil {
		label := fmt.Sprintf("bound from (ε, δ) = (%s, %s) alone", digits(*a.EpsilonUpper, 3, true), digits(*a.Delta, 3, true))
		p.Legend.Add(label, p.line(promise, Palette[1], 1.5, Dashes[1]))
	}
	p.Legend.Add("guessing", p.line(guess, grey, 1, Dashes[4]))
	LogX(p.Plot)
	LogY(p.Plot)
	p.Legend.Top = false // below the diagonal there are no curves, so the legend fits there
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(28), vg.Points(6)
	return Figure{Panels: []*plot.Plot{p.Plot}, Width: vg.Points(400), Height: vg.Points(330)}, p.err
}
