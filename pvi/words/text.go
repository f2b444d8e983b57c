package words

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Number returns x as text with four significant digits.
func Number(x float64) string { return fmt.Sprintf("%.4g", x) }

// Plural returns n and a noun. It adds an s to the noun unless n is 1.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Wrap breaks text into lines of at most 92 characters.
func Wrap(text string) string { return wrap(text, 92) }

func wrap(text string, width int) string {
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
