//go:build unix

// Command pages runs the commands of documentation pages, and writes their outputs into the pages.
// Its test compares the outputs with the pages.
//
// A page has its commands in fenced blocks of the kind console. The line "$ COMMAND" contains a
// command, and its output follows. A line "NAME$ COMMAND" is a command that a person types at the
// terminal with that name. Commands of several terminals run at the same time. A line "..."
// replaces output that the page omits. The test runs commands in a block of the kind "console slow"
// only if FEDPVI_LONG is set.
package main

import (
	"regexp"
	"strings"
)

// A command is a command on a page, with the output that the page shows.
type command struct {
	terminal string // name of the terminal; empty if the command needs none
	line     string
	slow     bool // whether the command takes long
	output   []string

	begin, end int // first line of the output in the page, and the line after its end
}

var typed = regexp.MustCompile(`^([a-z0-9-]*)\$ (.+)$`)

func parse(text string) []*command {
	var all []*command
	inside, slow := false, false
	for n, line := range strings.Split(text, "\n") {
		m := typed.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```"):
			slow = line == "```console slow"
			inside = slow || line == "```console"
		case inside && m != nil:
			all = append(all, &command{terminal: m[1], line: m[2], slow: slow, begin: n + 1, end: n + 1})
		case inside && len(all) > 0:
			c := all[len(all)-1]
			c.output, c.end = append(c.output, line), n+1
		}
	}
	return all
}

// write returns the text of a page in which the outputs of the commands are replaced by outputs.
func write(text string, commands []*command, outputs [][]string) string {
	lines := strings.Split(text, "\n")
	for i := len(commands) - 1; i >= 0; i-- {
		c := commands[i]
		lines = append(lines[:c.begin:c.begin], append(c.shorten(outputs[i]), lines[c.end:]...)...)
	}
	return strings.Join(lines, "\n")
}

const omitted = "..."

// shorten shortens an output in the same way as the page, with as many lines before and after the
// line "..." as the page has.
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
