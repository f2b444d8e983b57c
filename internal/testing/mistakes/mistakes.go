// Package mistakes tests the messages that the commands print when users make mistakes, and writes
// them to the page docs/use/mistakes.md. The mistakes are listed in the tests of the commands. To
// write the page:
//
//	go test -p 1 ./cmd/... -run TestMistakes -args -update
package mistakes

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/internal/testing/manual"
)

var update = flag.Bool("update", false, "write the tables of docs/use/mistakes.md")

// A Mistake is a command line or a file with a mistake.
type Mistake struct {
	Name string // the mistake in words
	Args []string
	Code int    // exit code
	Has  string // text that the message must contain: the place or the remedy
}

// Of returns a mistake with the given fields.
func Of(name string, args []string, code int, has string) Mistake {
	return Mistake{Name: name, Args: args, Code: code, Has: has}
}

// A Program is a command whose messages are tested.
type Program struct {
	Name string
	Run  func(args []string) int
	// Message finds the message for people in the output of the command.
	Message func(stdout, stderr string) string
	// Hide replaces text that differs between two runs of a test, such as a port. It contains pairs
	// of texts and replacements, as in strings.NewReplacer.
	Hide []string
	// Brief leaves commands and exit codes out of the table, for mistakes that have both in common.
	// The text before the table then names them.
	Brief bool
	// After, if set, is called after each command.
	After func(t *testing.T, m Mistake)
}

// Check runs the command of each mistake, and checks the exit code and the message, and that the
// table with the given name on the page has these messages. With the flag -update, Check writes the
// table instead. root is the path of the repository.
func (p Program) Check(t *testing.T, root, name string, all []Mistake) {
	t.Helper()
	var b strings.Builder
	if p.Brief {
		b.WriteString("| mistake | message |\n|---|---|\n")
	} else {
		b.WriteString("| mistake | command and message | exit code |\n|---|---|---|\n")
	}
	for _, m := range all {
		code, stdout, stderr := manual.Output(t, p.Run, m.Args...)
		hide := strings.NewReplacer(p.Hide...)
		message := strings.TrimSpace(hide.Replace(p.Message(stdout, stderr)))
		if code != m.Code {
			t.Errorf("%s: exit code %d, want %d\n%s", m.Name, code, m.Code, message)
		}
		if m.Has == "" || !strings.Contains(message, m.Has) {
			t.Errorf("%s: the message lacks %q:\n%s", m.Name, m.Has, message)
		}
		if p.After != nil {
			p.After(t, m)
		}
		if p.Brief {
			fmt.Fprintf(&b, "| %s | %s |\n", m.Name, cell(message))
			if m.Code != all[0].Code {
				t.Errorf("%s has the exit code %d, and the first mistake of a brief table %d", m.Name, m.Code, all[0].Code)
			}
			continue
		}
		command := hide.Replace(p.Name + " " + strings.Join(m.Args, " "))
		fmt.Fprintf(&b, "| %s | `%s`<br>%s | %d |\n", m.Name, command, cell(message), code)
	}
	path := filepath.Join(root, "docs", "use", "mistakes.md")
	manual.Tables(t, path, map[string]string{name: b.String()}, *update, "go test -p 1 ./cmd/... -run TestMistakes -args -update")
}

// Succeed runs a command that must succeed, and returns its output.
func (p Program) Succeed(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := manual.Output(t, p.Run, args...)
	if code != 0 {
		t.Fatalf("%s %s: exit code %d\n%s", p.Name, strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// Code runs a command and returns its exit code.
func (p Program) Code(t *testing.T, args ...string) int {
	t.Helper()
	code, _, _ := manual.Output(t, p.Run, args...)
	return code
}

// cell escapes a message for a cell of a Markdown table.
func cell(message string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "\n", "<br>").Replace(message)
}

// Stderr returns a function that extracts the message of the named program from its standard error,
// without the log lines before it and the exit code after it.
func Stderr(name string) func(stdout, stderr string) string {
	return func(_, stderr string) string {
		at := strings.LastIndex("\n"+stderr, "\n"+name+": ")
		if at < 0 {
			return ""
		}
		message := stderr[at:]
		if end := strings.Index(message, "\n(exit code "); end >= 0 {
			message = message[:end]
		}
		return message
	}
}
