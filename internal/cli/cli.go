// Package cli has the code that all commands of the project share: it parses the command line, ends
// the program on a signal, and makes the shell completion and the manual page.
package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
)

// Usage is the exit code for an invalid command line. See docs/use/exit-codes.md.
const Usage = 2

// A Program describes a command for its help text and its manual page.
type Program struct {
	Name string
	// Description has a summary in its first line. Lines that begin with a space are printed
	// unchanged.
	Description string
	Exits       []Exit
	Words       map[string]string // replacements for ${name} in the help text of flags and arguments
}

// An Exit is an exit code with its meaning in one sentence.
type Exit struct {
	Code    int
	Meaning string
}

// Common has the flags that every command has.
type Common struct {
	Quiet   bool             `short:"q" help:"Show no progress and no notes."`
	Version kong.VersionFlag `help:"Print the version of this program."`
}

// Run runs a program. It parses args into commands, a pointer to a struct with the tags of the kong
// library, and calls do with the command that the user chose. An interrupt, SIGTERM or the end of
// parent cancels the context. Run returns the exit code: the result of do, 0 after --help and
// --version, or Usage if the arguments cannot be parsed.
func Run(parent context.Context, program Program, commands any, args []string, do func(ctx context.Context, command *kong.Context) int) int {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	defer stop()
	exited := -1 // exit code that kong has asked for, such as 0 after --help; −1 if it has not
	parser, err := kong.New(commands,
		kong.Vars(program.Words),
		kong.Name(program.Name),
		kong.Description(program.Description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(program),
		kong.Vars{"version": fmt.Sprintf("%s %s, %s, %s/%s", program.Name, Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)},
	)
	if err != nil {
		panic(err) // unreachable, because the commands are well formed
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\nTry %s --help.\n", program.Name, err, program.Name)
		return Usage
	}
	return do(ctx, command)
}

// Version returns the program's version, which the go command derives from the commit and its tags.
// It ends in "+dirty" if files have changed since. Without a version, it returns "unknown".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// PrintJSON prints v as indented JSON on standard output. v must be an object, so that a later
// version can add fields.
func PrintJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
