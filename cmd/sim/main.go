// Command sim plays a whole federation on one machine: it plans studies, runs
// them and sweeps over their settings. See sim --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"fedpvi/internal/cli"
)

// Exit codes: docs/use/exit-codes.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)

const description = `Play a federated, differentially private study on one machine.

A study is a TOML file that says what is estimated from which columns, under
which privacy promise. The same file is used by coordinator and clients.

  sim explain study.toml    what is estimated, read, public and sent, in words
  sim plan  study.toml      what the privacy target costs, before any is spent
  sim run   study.toml      the whole federation: posterior, accounting, plots
  sim sweep sweep.toml      a grid of settings × seeds: tidy results, plots
  sim tune  study.toml      better settings, found on made-up records

  sim autoencoder ...       a variational autoencoder of images, each protected

  sim deal  study.toml      a file of records for each client, to try a real network
  sim privacy ...           the calculator: what noise costs, and what it means
  sim audit                 attacks on this program: does it keep its promises?
  sim doctor                processor and GPUs: what is there, and how fast it is`

type commands struct {
	Explain explainCommand `cmd:"" help:"Say in plain words what a study estimates, reads and sends."`

	Plan  planCommand  `cmd:"" help:"Derive what a study's privacy target costs."`
	Run   runCommand   `cmd:"" help:"Run a study with all its clients."`
	Sweep sweepCommand `cmd:"" help:"Run a study over a grid of settings and seeds."`
	Tune  tuneCommand  `cmd:"" help:"Search clip, steps and step size on made-up or public records."`

	Autoencoder autoencoderCommand `cmd:"" help:"Train a variational autoencoder of images, with privacy of every image."`

	Deal dealCommand `cmd:"" help:"Write the records of each client to a file of its own."`

	Audit   auditCommand   `cmd:"" help:"Attack this program, and see whether it keeps what it promises."`
	Privacy privacyCommand `cmd:"" help:"Compute what noise costs, or what a budget buys, and what that means."`
	Doctor  doctorCommand  `cmd:"" help:"Say what this machine computes with, and how fast it is."`

	Completion cli.Completion `cmd:"" help:"Print a script that completes commands: source <(sim completion bash)."`
	Man        cli.Manual     `cmd:"" help:"Print the manual page: sim man | man -l -."`
}

var program = cli.Program{Name: "sim", Description: description, Exits: []cli.Exit{
	{Code: exitOK, Meaning: "Success."},
	{Code: exitFailed, Meaning: "Failure, or a finding of sim audit. The message gives the reason."},
	{Code: cli.Usage, Meaning: "The command line cannot be used."},
	{Code: exitInterrupted, Meaning: "Interrupted by a signal."},
}}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var c commands
	return cli.Run(program, &c, args, func(_ context.Context, command *kong.Context) int {
		return finish(command.Run())
	})
}

// finish says what went wrong, and returns the exit code.
func finish(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "sim: interrupted")
		return exitInterrupted
	default:
		fmt.Fprintf(os.Stderr, "sim: %v\n", err)
		return exitFailed
	}
}
