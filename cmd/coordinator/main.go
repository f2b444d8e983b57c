// Command coordinator runs federated studies on a server: it invites clients, asks them
// round after round, and has the posterior at the end. See coordinator --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"fedpvi/coordinator/bundle"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/internal/cli"
)

// Exit codes: docs/use/exit-codes.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = cli.Usage
	exitRefused     = 3
	exitDamaged     = 5
	exitInterrupted = 130
)

const description = `Run federated, differentially private studies.

A study is a TOML file. Clients are data holders: each gets an invitation, looks at
the study with its own program, and consents or not. Its records stay where they are.

  coordinator init study.toml --clients north,south,west --address host:7443
  coordinator serve              answers clients until the study is over
  coordinator status             where studies are, and for whom they wait
  coordinator watch              the same, until the end
  coordinator posterior          what came out

  coordinator invite NAME        one more client, or a new invitation
  coordinator start              begin without those who did not come
  coordinator abort              end a study for all
  coordinator bundle, verify     all that was said, signed, to be checked by anybody`

type commands struct {
	State string `help:"State directory, with the keys and all studies." default:"fedpvi-coordinator" env:"FEDPVI_COORDINATOR_STATE" type:"path" placeholder:"DIR"`

	Init      initCommand      `cmd:"" help:"Add a study, and make an invitation for each client."`
	Invite    inviteCommand    `cmd:"" help:"Make an invitation for one more client, or a new one."`
	Serve     serveCommand     `cmd:"" help:"Answer clients."`
	Status    statusCommand    `cmd:"" help:"Say where studies are and for whom they wait."`
	Watch     watchCommand     `cmd:"" help:"Show a study as it goes, until its end."`
	Start     startCommand     `cmd:"" help:"Begin a study with the clients that have consented."`
	Posterior posteriorCommand `cmd:"" help:"Print what came out of a study."`
	Abort     abortCommand     `cmd:"" help:"End a study for all, before its time."`
	Bundle    bundleCommand    `cmd:"" help:"Write all that was said in a study to one file."`
	Verify    verifyCommand    `cmd:"" help:"Check a bundle, without a network or keys."`

	CheckConfig checkCommand   `cmd:"" help:"Check a study file and the state directory, and change nothing."`
	Completion  cli.Completion `cmd:"" help:"Print a script that completes commands: source <(coordinator completion bash)."`
	Man         cli.Manual     `cmd:"" help:"Print the manual page: coordinator man | man -l -."`
}

var program = cli.Program{Name: "coordinator", Description: description, Exits: []cli.Exit{
	{Code: exitOK, Meaning: "Success."},
	{Code: exitFailed, Meaning: "Failure: a disk, a file, another process that has the state directory open, or a study that was aborted. The message gives the reason."},
	{Code: exitUsage, Meaning: "The command line or a name in it cannot be used."},
	{Code: exitRefused, Meaning: "coordinator verify found a fault in a bundle. The message names the entry."},
	{Code: exitDamaged, Meaning: "The state directory is damaged, or a newer version wrote it."},
	{Code: exitInterrupted, Meaning: "Interrupted by a signal. Run the command again: a study continues where it was."},
}}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var c commands
	return cli.Run(program, &c, args, func(ctx context.Context, command *kong.Context) int {
		if err := command.Run(&environment{ctx: ctx, state: c.State}); err != nil {
			return report(err, slices.Contains(args, "--json"))
		}
		return exitOK
	})
}

// environment is what every command has.
type environment struct {
	ctx   context.Context
	state string
}

// report says what went wrong, and returns the exit code.
func report(err error, asJSON bool) int {
	code := codeOf(err)
	if asJSON {
		if e := printJSON(map[string]any{"error": err.Error(), "code": code}); e != nil {
			err = errors.Join(err, e)
		}
	}
	if code != exitInterrupted {
		fmt.Fprintf(os.Stderr, "coordinator: %v\n(exit code %d: docs/use/exit-codes.md)\n", err, code)
	}
	return code
}

// codeOf returns the exit code of an error.
func codeOf(err error) int {
	var fault *bundle.Fault
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &fault):
		return exitRefused
	case errors.Is(err, store.ErrFormat), errors.Is(err, store.ErrDamaged):
		return exitDamaged
	case errors.Is(err, identity.ErrName):
		return exitUsage
	}
	return exitFailed
}
