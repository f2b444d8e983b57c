// Package manual lets tests check the manual pages of the commands. It also lets tests check and
// update the tables in documentation pages that are made from tests.
package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Check runs the command with the argument man. It checks that the page names every command, flag
// and argument in commands, a pointer to the kong struct that the command parses. words holds the
// field Words of the command's cli.Program. Check also checks that every command has the flag
// --quiet, with the short form -q, exactly once.
func Check(t *testing.T, run func(args []string) int, commands any, words map[string]string) {
	t.Helper()
	page := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\e`, `\`, `\(ti`, "~").Replace(print(t, run))
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

// Between replaces the part of the page between two marks by table, and returns the new page. The
// marks are comments that contain the given name.
func Between(page, name, table string) (string, error) {
	begin, end := "<!-- "+name+": made from the tests -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", fmt.Errorf("the page has no place for the table %q", name)
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}

func print(t *testing.T, run func(args []string) int) string {
	path := filepath.Join(t.TempDir(), "page.1")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stdout := os.Stdout
	os.Stdout = f
	code := run([]string{"man"})
	os.Stdout = stdout
	if code != 0 {
		t.Fatalf("man ends with %d", code)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
