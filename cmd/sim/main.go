// Command sim plans and runs whole federations on one machine. It also runs a study over grids of
// settings. See sim --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"fedpvi/internal/cli"
)

// These are the exit codes. See docs/use/exit-codes.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitNotArrived  = 8
	exitInterrupted = 130
)

const description = `Run a federated, differentially private study on one machine.

A study is a TOML file with the model, the columns of the records and the privacy promise.
The coordinator and the clients use the same file.

  sim draft dictionary      a first study file, from a data dictionary
  sim explain study.toml    the study in plain words: estimated, read, public, sent
  sim plan  study.toml      the cost of the privacy target, before any is spent
  sim run   study.toml      the whole federation: posterior, accounting, plots
  sim compare RUN RUN       which model predicts records better
  sim sweep sweep.toml      a grid of settings and seeds: tidy results, plots
  sim tune  study.toml      better settings, found on made-up records

  sim autoencoder ...       a variational autoencoder that protects every image

  sim deal  study.toml      a file of records per client, to try a real network
  sim trace study.bundle    the course of a federation, from its public messages
  sim privacy ...           the privacy calculator: noise, ε, and their meaning
  sim truth                 a bank of federations, to check that intervals are true
  sim audit                 attacks on this program, to check its privacy claims
  sim doctor                processor and GPUs, and their speed`

type commands struct {
	cli.Common

	Draft   draftCommand   `cmd:"" help:"Write a first study file, from a data dictionary or made-up records."`
	Explain explainCommand `cmd:"" help:"Describe in plain words what a study estimates, reads and sends."`

	Plan    planCommand    `cmd:"" help:"Compute the cost of a study's privacy target."`
	Run     runCommand     `cmd:"" help:"Run a study with all its clients."`
	Predict predictCommand `cmd:"" help:"Predict for a file of records with the posterior of a run."`
	Compare compareCommand `cmd:"" help:"Compare runs by how well they predict a file of records."`
	Sweep   sweepCommand   `cmd:"" help:"Run a study over a grid of settings and seeds."`
	Tune    tuneCommand    `cmd:"" help:"Search clip, steps and step size on made-up or public records."`

	Autoencoder autoencoderCommand `cmd:"" help:"Train a variational autoencoder that protects every image."`

	Deal  dealCommand  `cmd:"" help:"Write the records of each client to a file of its own."`
	Trace traceCommand `cmd:"" help:"Show how the posterior in a coordinator's bundle came about."`

	Truth   truthCommand   `cmd:"" help:"Check over a bank of federations that intervals are true."`
	Audit   auditCommand   `cmd:"" help:"Attack this program, to check that it keeps its privacy claims."`
	Privacy privacyCommand `cmd:"" help:"Compute the cost of noise, or the noise for a budget."`
	Doctor  doctorCommand  `cmd:"" help:"Measure the processor and the GPUs of this machine."`

	Completion cli.Completion `cmd:"" help:"Print a script for shell completion: source <(sim completion bash)."`
	Man        cli.Manual     `cmd:"" help:"Print the manual page: sim man | man -l -."`
}

var program = cli.Program{Name: "sim", Description: description, Words: map[string]string{"table": "CSV (plain, gzip or zstd) or Parquet"}, Exits: []cli.Exit{
	{Code: exitOK, Meaning: "Success."},
	{Code: exitFailed, Meaning: "Failure, or a finding of sim audit. The message gives the reason."},
	{Code: cli.Usage, Meaning: "The command line cannot be used."},
	{Code: exitNotArrived, Meaning: "sim run --arrived: the results were written, but the rounds have not converged."},
	{Code: exitInterrupted, Meaning: "Interrupted by a signal."},
}}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var c commands
	return cli.Run(context.Background(), program, &c, args, func(_ context.Context, command *kong.Context) int {
		return finish(command.Run(&c.Common))
	})
}

func finish(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errNotArrived):
		fmt.Fprintf(os.Stderr, "sim: %v\n", err)
		return exitNotArrived
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "sim: interrupted")
		return exitInterrupted
	default:
		fmt.Fprintf(os.Stderr, "sim: %v%s\n", err, cli.Remedy(err))
		return exitFailed
	}
}
