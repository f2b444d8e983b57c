package words

import (
	"fmt"

	"fedpvi/internal/prose"
)

// Number returns x as text with four significant digits.
func Number(x float64) string { return fmt.Sprintf("%.4g", x) }

// Plural returns n and a noun, with an s unless n is 1.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Wrap breaks text into lines of the usual width.
func Wrap(text string) string { return prose.Wrap(text, prose.Width) }
