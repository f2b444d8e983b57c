package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Span is a part of a text, from byte From to before byte To.
type Span struct{ From, To int }

// A Message says what is wrong with a program, where, and what to write instead. Its code does
// not change between versions.
type Message struct {
	Code string // such as "E201"
	At   Span
	Text string
}

// Errors are the messages about a program, in the order of its text.
type Errors struct {
	Text     string // text of the program
	Messages []Message
}

// Error returns one paragraph for each message: line and column, code and text, the line of the
// program, and carets below the part that the message is about.
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

// Place returns the line and the column of a byte of a text, both counted from 1.
func Place(text string, at int) (line, column int) {
	before := text[:min(at, len(text))]
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

// printed returns the character that is shown for a character of a program. One column is shown
// for each.
func printed(r rune) rune {
	if !unicode.IsPrint(r) || r == utf8.RuneError {
		return ' '
	}
	return r
}
