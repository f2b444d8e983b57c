package cli

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

type example struct {
	Common
	State string `env:"EXAMPLE_STATE"`
	Show  struct {
		Deep struct{} `cmd:""`
	} `cmd:""`
	Run        runs       `cmd:""`
	Secret     struct{}   `cmd:"" hidden:""`
	Completion Completion `cmd:""`
	Man        Manual     `cmd:"" help:"Print 'this'."`
}

var program = Program{Name: "example", Description: "An example.\n.dots\n\n  C:\\data\n\nAfter.", Exits: []Exit{{7, "Seven."}}}

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
		{[]string{"--version"}, 0, false},
		{[]string{"run", "--help"}, 0, false},
		{[]string{"walk"}, Usage, false},
		{[]string{"run", "--date", "x"}, Usage, false},
		{nil, Usage, false},
	} {
		done := false
		got := Run(context.Background(), program, new(example), c.args, func(context.Context, *kong.Context) int { done = true; return 7 })
		if got != c.want || done != c.done {
			t.Errorf("%q ends with %d (ran: %v), want %d (%v)", c.args, got, done, c.want, c.done)
		}
	}
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	var b strings.Builder
	code := Run(context.Background(), program, new(example), args, func(_ context.Context, command *kong.Context) int {
		command.Stdout = &b
		if err := command.Run(); err != nil {
			t.Fatal(err)
		}
		return 0
	})
	if code != 0 {
		t.Fatalf("%s ends with %d", args, code)
	}
	return b.String()
}

func TestManualPage(t *testing.T) {
	page := output(t, "man")
	for _, want := range []string{
		`example \- an example`, "\n\\&.dots\n", ".EX\n  C:\\edata\n.EE\n.PP\nAfter.\n",
		`.SS "example show deep"`, `\fB\-\-data\fR=\fISTRING\fR`, "Print \\(aqthis\\(aq.", ".TP\n\\fB7\\fR\nSeven.",
		"EXAMPLE_STATE",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "secret") {
		t.Errorf("the page names a hidden command:\n%s", page)
	}
}

func TestManualPageRenders(t *testing.T) {
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("man is not on this machine")
	}
	cmd := exec.Command(man, "--warnings", "-l", "-")
	cmd.Stdin = strings.NewReader(output(t, "man"))
	var warnings strings.Builder
	cmd.Stderr = &warnings
	text, err := cmd.Output()
	if err != nil || warnings.Len() > 0 || !strings.Contains(string(text), `C:\data`) {
		t.Errorf("man prints\n%s\nwarnings: %s, %v", text, warnings.String(), err)
	}
}

func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash on this machine")
	}
	for _, c := range []struct{ line, want string }{
		{"example |", "show run completion man --help --quiet --version --state"},
		{"example r|", "run"},
		{"example show |", "deep --help --quiet --version --state"},
		{"example run --d|", "--data"},
		{"example --state x run --d|", "--data"},
	} {
		words := strings.Split(strings.TrimSuffix(c.line, "|"), " ")
		cmd := exec.Command(bash, "-c", output(t, "completion", "bash")+`
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
		got := output(t, "completion", shell)
		if !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("the script of %s is %q", shell, got)
		}
	}
}
