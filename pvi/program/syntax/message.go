package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Span is the part of a text from byte From up to byte To, exclusive.
type Span struct{ From, To int }

// A Message describes an error in a program, its place, and how to correct it. A Code keeps its
// meaning in later versions.
type Message struct {
	Code string // code of the kind of error, such as "E201"
	At   Span
	Text string
}

// Errors has the messages about a program, in the order of their places.
type Errors struct {
	Text     string // text of the program
	Messages []Message
}

// Error returns a paragraph for each message: line and column, code and text, the line of the
// program, and carets below the wrong part.
func (e *Errors) Error() string {
	var b strings.Builder
	for i, m := range e.Messages {
		if i > 0 {
			b.WriteString("\n")
		}
		m.write(&b, e.Text)
	}
	return b.String()
}

// Place returns the line and column of a byte in a text, counted from 1.
func Place(text string, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[start:])
}

// mostShown is the largest number of characters of a line that a message shows.
const mostShown = 120

func (m Message) write(b *strings.Builder, text string) {
	line, column := Place(text, m.At.From)
	fmt.Fprintf(b, "%d:%d: %s %s", line, column, m.Code, m.Text)
	start := strings.LastIndexByte(text[:min(m.At.From, len(text))], '\n') + 1
	shown, _, _ := strings.Cut(text[start:], "\n")
	shown = strings.Map(printed, shown)
	if strings.TrimSpace(shown) == "" || utf8.RuneCountInString(shown) > mostShown {
		return
	}
	end := min(m.At.To, start+len(shown))
	carets := max(1, utf8.RuneCountInString(text[min(m.At.From, end):end]))
	fmt.Fprintf(b, "\n  %s\n  %s%s", shown, strings.Repeat(" ", column-1), strings.Repeat("^", carets))
}

// printed returns r if it is printable, and otherwise a blank.
func printed(r rune) rune {
	if !unicode.IsPrint(r) || r == utf8.RuneError {
		return ' '
	}
	return r
}
