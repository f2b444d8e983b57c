package report

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// noteGap is the distance between the panels of a figure and the notes below them.
const noteGap vg.Length = 8

func noteStyle() text.Style {
	style := NewPanel("", "", "").Title.TextStyle
	style.XAlign, style.YAlign = text.XLeft, text.YBottom
	style.Font.Size = font.Length(9)
	return style
}

// note adds notes below the panels and enlarges the figure to make room for them. Call it only
// once, after the figure's size is set.
func (f *Figure) note(notes []string) {
	if len(notes) == 0 {
		return
	}
	style := noteStyle()
	f.notes = fold(strings.Join(notes, "\n"), style, f.Width-margin-rightMargin)
	f.Height += style.Height(f.notes) + noteGap
}

// fold breaks lines that are wider than width. It breaks them between words, so a long word may
// still be too wide.
func fold(s string, style text.Style, width vg.Length) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		start := len(lines)
		for word := range strings.FieldsSeq(line) {
			if last := len(lines) - 1; last >= start && style.Width(lines[last]+" "+word) <= width {
				lines[last] += " " + word
			} else {
				lines = append(lines, word)
			}
		}
		if len(lines) == start {
			lines = append(lines, "")
		}
	}
	return strings.Join(lines, "\n")
}

// NominalX puts names along the horizontal axis of a panel of the given width. It breaks long names
// so that they do not overlap.
func NominalX(p *plot.Plot, names []string, width vg.Length) {
	const axis = 60 // width of the vertical axis and the margins
	folded := make([]string, len(names))
	for i, name := range names {
		folded[i] = fold(name, p.X.Tick.Label, (width-axis)/vg.Length(len(names))-margin)
	}
	p.NominalX(folded...)
}

// shorten removes the middle of a text that is wider than width. It keeps both ends, because many
// names of coefficients begin or end alike.
func shorten(s string, style text.Style, width vg.Length) string {
	letters := []rune(s)
	for kept := len(letters) - 1; style.Width(s) > width && kept > 1; kept-- {
		s = string(letters[:(kept+1)/2]) + "…" + string(letters[len(letters)-kept/2:])
	}
	return s
}
