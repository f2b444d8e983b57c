package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Span is the part of a text from byte From up to, but not including, byte To.
type Span struct{ From, To int }

// A Message describes an error in a program, says where it is, and suggests how to correct it.
// Codes keep their meaning in later versions.
type Message struct {
	Code string // code for the kind of error, such as "E201"
	At   Span
	Text string
}

// Errors holds the messages about a program, in the order of their places.
type Errors struct {
	Text     string // the program's text
	Messages []Message
}

// Error returns a paragraph for each message. It has the line and column, the code and the text of
// the message, the line of the program, and carets below the part that is wrong.
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

// Place returns the line and the column of a byte in a text. Both are counted from 1.
func Place(text string, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[start:])
}

// mostShown is the largest number of characters of a program line that a message shows.
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

// printed returns r if it is printable, and a blank if it is not.
func printed(r rune) rune {
	if !unicode.IsPrint(r) || r == utf8.RuneError {
		return ' '
	}
	return r
}
