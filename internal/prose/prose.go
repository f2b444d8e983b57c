// Package prose breaks text into lines.
package prose

import (
	"strings"
	"unicode/utf8"
)

// Width is the number of characters to which texts are wrapped. Texts are wrapped to fewer
// characters only for a terminal that is narrower.
const Width = 92

// Wrap breaks text into lines of at most width characters, and ends the last line.
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

// narrowest is the smallest width to which Reflow breaks the text after an indent.
const narrowest = 20

// Reflow breaks the paragraphs of a text anew into lines of at most width characters. The text
// was wrapped to [Width] characters. Rows of tables, whose columns are separated by several
// spaces, keep their lines.
func Reflow(text string, width int) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		first, rest := indents(lines[i])
		body := lines[i][len(first):]
		next := i + 1
		if strings.Contains(body, "  ") {
			b.WriteString(lines[i] + "\n")
			i = next
			continue
		}
		for next < len(lines) && continues(lines[next-1], lines[next], rest) {
			body += " " + strings.TrimSpace(lines[next])
			next++
		}
		wrapped := strings.TrimSuffix(Wrap(body, max(width-len(rest), narrowest)), "\n")
		b.WriteString(first + strings.ReplaceAll(wrapped, "\n", "\n"+rest) + "\n")
		i = next
	}
	return b.String()
}

// indents returns the beginnings of the lines of a paragraph. The result first is the indent of the
// line and, if the line has a bullet, the bullet. The result rest has the same number of spaces.
// The other lines of the paragraph begin with rest.
func indents(line string) (first, rest string) {
	body := strings.TrimPrefix(strings.TrimLeft(line, " "), "- ")
	first = line[:len(line)-len(body)]
	return first, strings.Repeat(" ", len(first))
}

// continues reports whether Wrap began the new line only because the first word of that line did
// not fit into the line before. The argument indent has the length of the beginning of both lines.
func continues(before, line, indent string) bool {
	body, ok := strings.CutPrefix(line, indent)
	if !ok || body == "" || body[0] == ' ' || strings.HasPrefix(body, "- ") || strings.Contains(body, "  ") {
		return false
	}
	word, _, _ := strings.Cut(body, " ")
	return utf8.RuneCountInString(before)-len(indent)+1+utf8.RuneCountInString(word) > Width
}
