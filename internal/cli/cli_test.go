package cli

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

type example struct {
	State string
	Show  struct {
		Deep struct{} `cmd:""`
	} `cmd:""`
	Run        runs       `cmd:""`
	Secret     struct{}   `cmd:"" hidden:""`
	Completion Completion `cmd:""`
}

type runs struct{ Data string }

func (r *runs) Run() error { return nil }

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
		done bool
	}{
		{[]string{"run", "--data", "x"}, 7, true},
		{[]string{"--help"}, 0, false},
		{[]string{"run", "--help"}, 0, false},
		{[]string{"walk"}, Usage, false},
		{[]string{"run", "--date", "x"}, Usage, false},
		{nil, Usage, false},
	} {
		done := false
		got := Run("example", "An example.", new(example), c.args, func(context.Context, *kong.Context) int { done = true; return 7 })
		if got != c.want || done != c.done {
			t.Errorf("%q ends with %d (ran: %v), want %d (%v)", c.args, got, done, c.want, c.done)
		}
	}
}

func script(t *testing.T, shell string) string {
	t.Helper()
	var b strings.Builder
	code := Run("example", "An example.", new(example), []string{"completion", shell}, func(_ context.Context, command *kong.Context) int {
		command.Stdout = &b
		if err := command.Run(); err != nil {
			t.Fatal(err)
		}
		return 0
	})
	if code != 0 {
		t.Fatalf("completion %s ends with %d", shell, code)
	}
	return b.String()
}

// Bash itself says what would be completed, in an empty folder.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash on this machine")
	}
	for _, c := range []struct{ line, want string }{
		{"example |", "show run completion --help --state"},
		{"example r|", "run"},
		{"example show |", "deep --help --state"},
		{"example run --d|", "--data"},
		{"example --state x run --d|", "--data"},
	} {
		words := strings.Split(strings.TrimSuffix(c.line, "|"), " ")
		cmd := exec.Command(bash, "-c", script(t, "bash")+`
			COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
			_fedpvi_example
			echo "${COMPREPLY[@]}"`)
		cmd.Args = append(append(cmd.Args, "bash"), words...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := strings.TrimSpace(string(out)); got != c.want {
			t.Errorf("%s completes to %q, want %q", c.line, got, c.want)
		}
	}
}

func TestScriptsOfShells(t *testing.T) {
	for shell, want := range map[string]string{
		"bash": "complete -o filenames -F _fedpvi_example example",
		"zsh":  "autoload -U +X bashcompinit",
		"fish": "complete -c example -n '__fish_seen_subcommand_from run' -l data",
	} {
		got := script(t, shell)
		if !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("the script of %s is %q", shell, got)
		}
	}
}
