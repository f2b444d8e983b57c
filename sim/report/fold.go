package report

import (
	"strings"

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

// note adds notes below the panels, and makes the figure as much higher as they need. Call it once,
// when the figure has its size.
func (f *Figure) note(notes []string) {
	if len(notes) == 0 {
		return
	}
	style := noteStyle()
	f.notes = fold(strings.Join(notes, "\n"), style, f.Width-margin-rightMargin)
	f.Height += style.Height(f.notes) + noteGap
}

// fold breaks lines that are wider than width, between words. It keeps a word that is wider.
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

// shorten returns a text without its middle if it is wider than width. Names of coefficients often
// begin alike, and end alike, so that both ends are kept.
func shorten(s string, style text.Style, width vg.Length) string {
	letters := []rune(s)
	for kept := len(letters) - 1; style.Width(s) > width && kept > 1; kept-- {
		s = string(letters[:(kept+1)/2]) + "…" + string(letters[len(letters)-kept/2:])
	}
	return s
}
