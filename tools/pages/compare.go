//go:build unix

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// compare returns an error if the output of a command differs from the output on the page. White
// space is allowed to differ. In a command at a named terminal all numbers are allowed to differ,
// because the programs draw their noise from the system. Elsewhere numbers must agree to 2 %,
// because the last digits depend on the processor.
func (c *command) compare(output []string) error {
	same := near
	if c.terminal != "" {
		same = alike
	}
	if at, ok := match(c.output, output, same); !ok {
		return fmt.Errorf("%s\ndoes not print the output of the page, from line %d on:\n%s", c.line, at+1, strings.Join(output, "\n"))
	}
	return nil
}

// match reports whether lines agree with the lines of a page. If they do not, it also returns the
// index of the first line that differs.
func match(page, lines []string, same func(a, b string) bool) (at int, ok bool) {
	for n, want := range page {
		if want == omitted {
			for k := n; k <= len(lines); k++ {
				if _, ok := match(page[n+1:], lines[k:], same); ok {
					return 0, true
				}
			}
			return n, false
		}
		if n >= len(lines) || !sameFields(want, lines[n], same) {
			return n, false
		}
	}
	return len(page), len(page) == len(lines)
}

func sameFields(a, b string, same func(a, b string) bool) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && !same(x[i], y[i]) {
			return false
		}
	}
	return true
}

// alike reports whether two words both have a digit.
func alike(a, b string) bool {
	return strings.ContainsFunc(a, unicode.IsDigit) && strings.ContainsFunc(b, unicode.IsDigit)
}

// near reports whether two words are numbers that agree to 2 %, with the same signs around them.
func near(a, b string) bool {
	const around = "()[],.:;%"
	x, errA := strconv.ParseFloat(strings.Trim(a, around), 64)
	y, errB := strconv.ParseFloat(strings.Trim(b, around), 64)
	return errA == nil && errB == nil && math.Abs(x-y) <= 0.02*max(math.Abs(x), math.Abs(y))
}
