//go:build unix

package main

import (
	"slices"
	"strings"
	"testing"
)

const example = "```console slow\n$ sum 1 2\nthe sum is 3.00\n...\nover\nann$ sum\nnoise 17\n```\n$ none\n"

// The test compares outputs that fit a page, and outputs that do not.
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

// The function write replaces the outputs, and leaves out what the page leaves out.
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
