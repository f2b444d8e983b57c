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

// leastShown is the minimum false-positive rate that [TradeOff] plots.
const leastShown = 1e-6

// TradeOff plots an upper bound on the true-positive rate of attacks against the false-positive
// rate, together with the bound from (ε, δ) alone and the line of random guesses.
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
	for i := range 400 {
		x := math.Pow(leastShown, float64(i)/399)
		if a.EpsilonUpper != nil {
			promise = append(promise, plotter.XY{X: x, Y: accountant.TruePositiveRateBound(*a.EpsilonUpper, *a.Delta, x)})
		}
	}
	one := plotter.XY{X: 1, Y: 1}
	upper, lower, guess = append(upper, one), append(lower, one), append(guess, one)
	p := NewPanel("What an attacker recognises", "false-positive rate", "true-positive rate")
	add := func(label string, xy plotter.XYs, style int, faint bool) error {
		if len(xy) == 0 {
			return nil
		}
		line, err := plotter.NewLine(xy)
		if err != nil {
			return err
		}
		line.Color, line.Dashes, line.Width = Palette[style], Dashes[style], vg.Points(1.5)
		if faint {
			line.Color, line.Width = grey, vg.Points(1)
		}
		Add(p, line)
		p.Legend.Add(label, line)
		return nil
	}
	if err := add("no attack does better", upper, 0, false); err != nil {
		return Figure{}, err
	}
	if apart > 0.02 {
		if err := add("some attack does as well", lower, 2, false); err != nil {
			return Figure{}, err
		}
	}
	if a.EpsilonUpper != nil {
		label := fmt.Sprintf("bound from (ε, δ) = (%s, %s) alone", digits(*a.EpsilonUpper, 3, true), digits(*a.Delta, 3, true))
		if err := add(label, promise, 1, false); err != nil {
			return Figure{}, err
		}
	}
	if err := add("guessing", guess, 4, true); err != nil {
		return Figure{}, err
	}
	LogX(p)
	LogY(p)
	p.Legend.Top = false // the curves leave the space below the diagonal empty
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(28), vg.Points(6)
	return Figure{Panels: []*plot.Plot{p}, Width: vg.Points(400), Height: vg.Points(330)}, nil
}
