// Package manual lets tests check the manual pages of the commands, and the tables in documentation
// pages that tests write.
package manual

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// Check checks that a command's manual page has every command, flag and argument in commands, a
// pointer to the kong struct that the command parses. Every command must have the flag --quiet, and
// its short form, exactly once. words is the field Words of the command's cli.Program.
func Check(t *testing.T, run func(args []string) int, commands any, words map[string]string) {
	t.Helper()
	code, text, _ := Output(t, run, "man")
	if code != 0 {
		t.Fatalf("man ends with %d", code)
	}
	page := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\e`, `\`, `\(ti`, "~").Replace(text)
	page = strings.ReplaceAll(page, "--[no-]", "--")
	parser, err := kong.New(commands, kong.Vars(words))
	if err != nil {
		t.Fatal(err)
	}
	has := func(text string) {
		if !strings.Contains(page, text) {
			t.Errorf("the manual page lacks %q", text)
		}
	}
	checked := 0
	err = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		checked++
		switch n := node.(type) {
		case *kong.Command:
			if n.Type == kong.CommandNode {
				has(n.Name)
			}
		case *kong.Flag:
			has("--" + n.Name)
			has(n.Help)
		case *kong.Value:
			if n.Flag == nil {
				has("<" + n.Name)
				has(n.Help)
			}
		}
		return next(nil)
	})
	if err != nil || checked < 20 {
		t.Errorf("%d commands and flags were checked: %v", checked, err)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		quiet := 0
		for _, group := range leaf.AllFlags(false) {
			for _, f := range group {
				if f.Name == "quiet" || f.Short == 'q' {
					quiet++
				}
			}
		}
		if quiet != 1 {
			t.Errorf("%s has %d flags --quiet or -q, not 1", leaf.FullPath(), quiet)
		}
	}
	for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS"} {
		has(`.SH "` + section + `"`)
	}
}

// Tables checks that the file at path has the given tables. If update is true, it writes them
// instead. Each table is between two comments with its name. command is the command line that
// updates the file.
func Tables(t *testing.T, path string, tables map[string]string, update bool, command string) {
	t.Helper()
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(written)
	for name, table := range tables {
		if want, err = between(want, name, table); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(written), want); diff != "" {
		t.Errorf("%s does not match the tests, run %s (-page +tests):\n%s", path, command, diff)
	}
}

// between replaces the part of the page between the two marks for the given name by table.
func between(page, name, table string) (string, error) {
	begin, end := "<!-- "+name+": made from the tests -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", fmt.Errorf("the page has no place for the table %q", name)
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}

// Output runs a command with the given arguments, and returns the exit code and the output.
func Output(t *testing.T, run func(args []string) int, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var files [3]*os.File // standard output, standard error, and an empty standard input
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "output")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	usual := [3]*os.File{os.Stdin, os.Stdout, os.Stderr}
	os.Stdin, os.Stdout, os.Stderr = files[2], files[0], files[1]
	code = run(args)
	os.Stdin, os.Stdout, os.Stderr = usual[0], usual[1], usual[2]
	var texts [2]string
	for i, f := range files[:2] {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	return code, texts[0], texts[1]
}
