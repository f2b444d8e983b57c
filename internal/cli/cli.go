// Package cli holds what the project's commands share: reading the command line, ending at a
// signal, completion in a shell, and the manual page.
package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Usage is the exit code for a command line that cannot be used (docs/use/exit-codes.md).
const Usage = 2

// A Program describes a command for its help and its manual page.
type Program struct {
	Name        string
	Description string // The first line is a summary. Lines that begin with a space are printed as they are.
	Exits       []Exit
}

// An Exit is an exit code and its meaning, in one sentence.
type Exit struct {
	Code    int
	Meaning string
}

// Run parses args into commands, a pointer to a kong struct, and calls do with the command that
// the user chose. The context is cancelled at an interrupt or SIGTERM. Run returns the exit code:
// that of do, 0 after --help, and Usage for arguments that cannot be parsed.
func Run(program Program, commands any, args []string, do func(ctx context.Context, command *kong.Context) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exited := -1 // kong asks to exit after --help
	parser, err := kong.New(commands,
		kong.Name(program.Name),
		kong.Description(program.Description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(program),
	)
	if err != nil {
		panic(err) // unreachable: the commands are well formed
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

// PrintJSON writes one JSON value for people and programs on standard output.
func PrintJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Terminal reports whether a file is a terminal.
func Terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
