package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"fedpvi/internal/prose"
)

// Terminal reports whether a file is a terminal.
func Terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// columns returns the width of the terminal f in characters. It returns 0 if the width is unknown
// or f is not a terminal.
func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// A Line shows the progress of a program on one line of a terminal. Each new text replaces the
// previous one. It uses only carriage returns and spaces, because some terminals print escape
// sequences as text.
type Line struct {
	out    io.Writer
	width  int // width of the terminal; 0 if it is unknown
	length int // number of characters currently shown
}

// NewLine returns an empty line of a terminal.
func NewLine(terminal io.Writer) *Line {
	l := &Line{out: terminal}
	if f, ok := terminal.(*os.File); ok {
		l.width = columns(f)
	}
	return l
}

// Draw replaces the text of the line. It cuts the text to the width of the terminal, because text
// on several lines could not be replaced.
func (l *Line) Draw(text string) {
	length := utf8.RuneCountInString(text)
	if l.width > 1 && length >= l.width {
		length = l.width - 1
		text = string([]rune(text)[:length])
	}
	fmt.Fprintf(l.out, "\r%s%s", text, strings.Repeat(" ", max(l.length-length, 0)))
	l.length = length
}

// Clear removes the text.
func (l *Line) Clear() {
	if l.length > 0 {
		l.Draw("")
		fmt.Fprint(l.out, "\r")
	}
}

// End leaves the text on the terminal. If there is any, it begins a new line.
func (l *Line) End() {
	if l.length > 0 {
		fmt.Fprintln(l.out)
		l.length = 0
	}
}

// Print writes text to a file. If the file is a narrow terminal, Print rewraps the paragraphs to
// fit.
func Print(f *os.File, text func(io.Writer) error) error {
	width := columns(f)
	if width <= 0 || width >= prose.Width {
		return text(f)
	}
	var b bytes.Buffer
	err := text(&b)
	_, failed := io.WriteString(f, prose.Reflow(b.String(), width))
	if err != nil {
		return err
	}
	return failed
}
