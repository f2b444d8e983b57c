// Package prose breaks text into lines.
package prose

import (
	"strings"
	"unicode/utf8"
)

// Width is the number of characters to which text is wrapped unless the terminal is narrower.
const Width = 92

// Wrap breaks text into lines of at most width characters. The last line ends in a line break too.
func Wrap(text string, width int) string {
	var b strings.Builder
	length := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case length == 0:
		case length+1+n > width:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += n
	}
	b.WriteByte('\n')
	return b.String()
}

// narrowest is the smallest width that Reflow leaves for the text after an indent.
const narrowest = 20

// Reflow rewraps the paragraphs of a text that was wrapped to [Width] characters. It leaves table
// rows alone, which it recognises by several spaces between columns.
func Reflow(text string, width int) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, next := 0, 0; i < len(lines); i = next {
		body := strings.TrimPrefix(strings.TrimLeft(lines[i], " "), "- ")
		first := lines[i][:len(lines[i])-len(body)] // indent of the first line, with the bullet of a list item
		rest := strings.Repeat(" ", len(first))     // indent of the paragraph's other lines
		next = i + 1
		if strings.Contains(body, "  ") {
			b.WriteString(lines[i] + "\n")
			continue
		}
		for next < len(lines) && continues(lines[next-1], lines[next], rest) {
			body += " " + strings.TrimSpace(lines[next])
			next++
		}
		wrapped := strings.TrimSuffix(Wrap(body, max(width-len(rest), narrowest)), "\n")
		b.WriteString(first + strings.ReplaceAll(wrapped, "\n", "\n"+rest) + "\n")
	}
	return b.String()
}

// continues reports whether line has the indent and belongs to the same paragraph as the line
// before: it is neither a list item nor a table row, and its first word did not fit on the line
// before.
func continues(before, line, indent string) bool {
	body, ok := strings.CutPrefix(line, indent)
	if !ok || body == "" || body[0] == ' ' || strings.HasPrefix(body, "- ") || strings.Contains(body, "  ") {
		return false
	}
	word, _, _ := strings.Cut(body, " ")
	return utf8.RuneCountInString(before)-len(indent)+1+utf8.RuneCountInString(word) > Width
}
