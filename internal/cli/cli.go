// Package cli is what the project's commands have alike: a command line that
// explains itself, signals that end what runs, and completion in a shell.
package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Usage is the exit code of a command line that was not understood (docs/use/exit-codes.md).
const Usage = 2

// Run reads args into commands, a pointer to a struct of kong's, and has do run the
// command that was chosen; ctx ends at an interrupt. It returns do's exit code, 0 after
// help was asked for, and Usage where the arguments are not as they should be.
func Run(name, description string, commands any, args []string, do func(ctx context.Context, command *kong.Context) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exited := -1 // kong asks to exit after --help
	parser, err := kong.New(commands,
		kong.Name(name),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		panic(err) // unreachable: the commands are well formed
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\nTry %s --help.\n", name, err, name)
		return Usage
	}
	return do(ctx, command)
}
