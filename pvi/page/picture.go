package page

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"fedpvi/pvi/words"
)

// Dimensions of a picture of effects, in its units.
const (
	pictureWidth = 720
	rowHeight    = 22
	axisHeight   = 40
	letterWidth  = 6.5 // average width of a letter in a name
	longestName  = 46  // longest name that is shown in full
)

// A Bar is the interval of an effect in a picture.
type Bar struct {
	Name                string
	Y, Left, Right, Mid float64
	Zero                bool // whether the interval contains 0
}

// A Picture shows the intervals of several effects as bars above one axis.
type Picture struct {
	Width, Height, Names float64
	Bars                 []Bar
	Zero                 float64 // horizontal position of the value 0
	Bottom               float64 // vertical position of the axis
	Ticks                []Tick
}

// A Tick is a labelled number on the axis of a picture.
type Tick struct {
	X    float64
	Text string
}

// mostBars is the largest number of effects in all pictures together, and barsOfOne in one picture,
// of which two fit on a printed page.
const (
	mostBars  = 150
	barsOfOne = 18
)

// Pictures returns the pictures of the report's effects.
func (v *view) Pictures() []*Picture { return picturesOf(v.Effects) }

// Files returns the pictures of the page as SVG documents for a paper, by file name.
func (r *Report) Files() (map[string][]byte, error) {
	pictures, files := picturesOf(r.Effects), make(map[string][]byte)
	for i, p := range pictures {
		name := "effects.svg"
		if len(pictures) > 1 {
			name = fmt.Sprintf("effects-%d.svg", i+1)
		}
		text, err := body("picture", p)
		if err != nil {
			return nil, err
		}
		files[name] = []byte(text)
	}
	return files, nil
}

// picturesOf returns pictures of effects on the model's scale, on which different columns can be
// compared. All have the same axis. The intercept and positive parameters are left out, and effects
// beyond the first mostBars.
func picturesOf(effects []Effect) []*Picture {
	low, high, letters := 0., 0., 0
	var shown []Effect
	for _, e := range effects {
		if e.Log || len(shown) == mostBars || math.IsInf(e.Low, 0) || math.IsInf(e.High, 0) || e.Name == "intercept" {
			continue
		}
		e.Name = shortened(e.Name)
		shown = append(shown, e)
		low, high, letters = min(low, e.Low), max(high, e.High), max(letters, utf8.RuneCountInString(e.Name))
	}
	if len(shown) == 0 || !(low < high) {
		return nil
	}
	var all []*Picture
	for part := range slices.Chunk(shown, barsOfOne) {
		all = append(all, pictureOf(part, low, high, letterWidth*float64(letters)+20))
	}
	return all
}

// shortened returns a name without its middle if it is longer than longestName. Names of interactions
// often begin alike, and end alike.
func shortened(name string) string {
	letters := []rune(name)
	if len(letters) <= longestName {
		return name
	}
	return string(letters[:longestName/2]) + "…" + string(letters[len(letters)-(longestName-1)/2:])
}

// pictureOf returns a picture of the effects in shown, with an axis over [low, high] and nameWidth
// for their names.
func pictureOf(shown []Effect, low, high, nameWidth float64) *Picture {
	at := func(x float64) float64 { return nameWidth + (x-low)/(high-low)*(pictureWidth-nameWidth-20) + 10 }
	p := &Picture{Width: pictureWidth, Height: float64(len(shown)*rowHeight + axisHeight), Names: nameWidth - 10, Zero: at(0), Bottom: float64(len(shown)*rowHeight + 6)}
	for i, e := range shown {
		p.Bars = append(p.Bars, Bar{e.Name, float64(i*rowHeight + rowHeight/2), at(e.Low), at(e.High), at((e.Low + e.High) / 2), e.Low <= 0 && 0 <= e.High})
	}
	step := tickStep(high - low)
	for k := math.Ceil(low / step); k*step <= high; k++ {
		p.Ticks = append(p.Ticks, Tick{at(k * step), words.Number(k*step + 0)}) // adding 0 turns -0 into 0
	}
	return p
}

// tickStep returns the distance between ticks: 1, 2 or 5 times a power of ten, of which 4 to 10 fit
// into the width.
func tickStep(width float64) float64 {
	ten := math.Pow(10, math.Floor(math.Log10(width)))
	for _, of := range []float64{.1, .2, .5, 1} {
		if width/(of*ten) <= 10 {
			return of * ten
		}
	}
	return ten
}
