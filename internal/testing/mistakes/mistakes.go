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

// A Mistake is a command line with a mistake, or with a file that has one.
type Mistake struct {
	Name string // description of the mistake
	Args []string
	Code int    // exit code
	Has  string // text that the message must have: it says where the mistake is, or how to correct it
}

// Of returns a mistake with the given fields.
func Of(name string, args []string, code int, has string) Mistake {
	return Mistake{Name: name, Args: args, Code: code, Has: has}
}

// A Program is a command whose messages are tested.
type Program struct {
	Name string
	Run  func(args []string) int
	// Message finds the message for the user in a command's output.
	Message func(stdout, stderr string) string
	// Hide replaces text that differs from run to run, such as a port. It has pairs of texts and
	// replacements, as strings.NewReplacer takes them.
	Hide []string
	// Brief leaves commands and exit codes out of the table. It is for mistakes that have both in
	// common. The text above the table then gives them.
	Brief bool
	// After, if set, is called after each command.
	After func(t *testing.T, m Mistake)
}

// Check runs the command for each mistake. It checks the exit code, the message, and that the
// messages are in the page's table with the given name. With the flag -update, Check writes this
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

// Succeed runs a command, which must succeed, and returns its output.
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

// cell escapes a message for a cell in a Markdown table.
func cell(message string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "\n", "<br>").Replace(message)
}

// Stderr returns a function that finds the message of the named program in its standard error. It
// leaves out the log lines before the message and the exit code after it.
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
