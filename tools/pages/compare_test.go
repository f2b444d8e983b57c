//go:build unix

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const example = "```console slow\n$ sum 1 2\nthe sum is 3.00\n...\nover\nann$ sum\nnoise 17\n```\n$ none\n"

func TestCompare(t *testing.T) {
	commands := parse(example)
	if len(commands) != 2 || commands[0].line != "sum 1 2" || commands[1].terminal != "ann" || !commands[0].slow {
		t.Fatalf("parsed %+v", commands)
	}
	tests := []struct {
		command int
		output  string
		fits    bool
	}{
		{0, "the  sum is 3.01\nover", true},
		{0, "the sum is 3.00\nand more\nover\nover", true},
		{0, "the sum is 3.2\nover", false},
		{0, "the sum is 3.00\nover\nand more", false},
		{0, "the product is 3.00\nover", false},
		{0, "the sum is 3.00", false},
		{1, "noise 42", true},
		{1, "noise none", false},
		{1, "noise 17\nnoise 17", false},
	}
	for _, test := range tests {
		if err := commands[test.command].compare(strings.Split(test.output, "\n")); (err == nil) != test.fits {
			t.Errorf("%q: got %v", test.output, err)
		}
	}
}

func TestWrite(t *testing.T) {
	commands := parse(example)
	got := write(example, commands, [][]string{{"the sum is 4", "a", "b", "over"}, {"noise 1", "noise 2"}})
	want := "```console slow\n$ sum 1 2\nthe sum is 4\n...\nover\nann$ sum\nnoise 1\nnoise 2\n```\n$ none\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	again := parse(got)
	if !slices.Equal(again[1].output, []string{"noise 1", "noise 2"}) {
		t.Errorf("parsed %q", again[1].output)
	}
}

// compare returns an error if the output of a command differs from the output on the page. White
// space does not matter. At a named terminal, numbers may differ too, because the programs draw
// their noise from the system. Elsewhere, numbers must agree to 2 %, because their last digits
// depend on the processor.
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

// match reports whether lines agree with the lines on a page. If they do not, it also returns the
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

// alike reports whether both words contain a digit.
func alike(a, b string) bool {
	return strings.ContainsFunc(a, unicode.IsDigit) && strings.ContainsFunc(b, unicode.IsDigit)
}

// near reports whether two words are numbers that agree to 2 % and have the same signs around them.
func near(a, b string) bool {
	const around = "()[],.:;%"
	x, errA := strconv.ParseFloat(strings.Trim(a, around), 64)
	y, errB := strconv.ParseFloat(strings.Trim(b, around), 64)
	return errA == nil && errB == nil && math.Abs(x-y) <= 0.02*max(math.Abs(x), math.Abs(y))
}
