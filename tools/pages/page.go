//go:build unix

// Command pages runs the commands of documentation pages, and writes what they print into the
// pages. Its test compares what they print with the pages.
//
// A command is in a fenced block of the kind console. The line "$ COMMAND" has the command, and the
// lines after it have its output. A line "NAME$ COMMAND" is a command that a person types at a
// terminal of that name. Commands of several terminals run at the same time. A line "..." stands for
// output that the page leaves out.
package main

import (
	"regexp"
	"strings"
)

// A command is a command of a page with its output.
type command struct {
	terminal string // name of the terminal; empty if the command needs none
	line     string // what the person types
	output   []string

	begin, end int // lines of the output in the page
}

var typed = regexp.MustCompile(`^([a-z0-9-]*)\$ (.+)$`)

// parse returns the commands of a page.
func parse(text string) []*command {
	var all []*command
	inside := false
	for n, line := range strings.Split(text, "\n") {
		m := typed.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case inside && m != nil:
			all = append(all, &command{terminal: m[1], line: m[2], begin: n + 1, end: n + 1})
		case inside && len(all) > 0:
			c := all[len(all)-1]
			c.output, c.end = append(c.output, line), n+1
		}
	}
	return all
}

// write returns the text of a page with the given outputs of its commands.
func write(text string, commands []*command, outputs [][]string) string {
	lines := strings.Split(text, "\n")
	for i := len(commands) - 1; i >= 0; i-- {
		c := commands[i]
		lines = append(lines[:c.begin:c.begin], append(c.shorten(outputs[i]), lines[c.end:]...)...)
	}
	return strings.Join(lines, "\n")
}

const omitted = "..."

// shorten leaves out of an output what the page leaves out: it keeps as many lines before and after
// the lines "..." as the page has there.
func (c *command) shorten(output []string) []string {
	first, last := -1, -1
	for n, line := range c.output {
		if line == omitted {
			if first < 0 {
				first = n
			}
			last = n
		}
	}
	after := len(c.output) - last - 1
	if first < 0 || first+after >= len(output) {
		return output
	}
	return append(append(append([]string{}, output[:first]...), omitted), output[len(output)-after:]...)
}
