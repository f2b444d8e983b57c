// Command coordinator runs federated studies. It invites clients, sends them a plan in each round,
// and computes the posterior. See coordinator --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kong"

	"fedpvi/coordinator/bundle"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/internal/cli"
)

// These are the exit codes. See docs/use/exit-codes.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = cli.Usage
	exitRefused     = 3
	exitDamaged     = 5
	exitNotArrived  = 8
	exitInterrupted = 130
)

const description = `Run federated, differentially private studies.

A study is a TOML file. A client belongs to a data holder: it gets an invitation, shows the
study to its owner, and takes part if the owner consents. The records stay with the client.

  coordinator init study.toml --clients north,south,west --address host:7443
  coordinator serve              serve clients until the study is over
  coordinator status             show the progress, and which clients it waits for
  coordinator watch              the same, until the end
  coordinator posterior          print the result

  coordinator invite NAME        invite one more client, or replace an invitation
  coordinator start              begin without the clients that have not consented
  coordinator abort              end a study early
  coordinator bundle, verify     the signed transcript in a file that anybody can check
  coordinator report             the result as a page to read, print and send`

type commands struct {
	cli.Common

	State string   `help:"State directory, with the keys and all studies." default:"fedpvi-coordinator" env:"FEDPVI_COORDINATOR_STATE" type:"path" placeholder:"DIR"`
	Audit []string `help:"Destination of the audit log: the path of a file, syslog:///dev/log, syslog+udp://HOST:PORT, syslog+tcp://HOST:PORT, or a collector for OpenTelemetry logs as otlp+http://HOST:PORT or otlp+https://HOST:PORT. May be repeated. It records who connects, joins, is refused or gives orders, and verdicts. Default: none." env:"FEDPVI_COORDINATOR_AUDIT" sep:"none" placeholder:"WHERE"`

	Unlock string `help:"File with the passphrase or the age identities that open protected keys. Default: ask for the passphrase." env:"FEDPVI_COORDINATOR_UNLOCK" placeholder:"FILE"`

	Init      initCommand      `cmd:"" help:"Add a study, and make an invitation for each client."`
	Invite    inviteCommand    `cmd:"" help:"Invite one more client, or replace an invitation."`
	Serve     serveCommand     `cmd:"" help:"Serve clients until every study is over."`
	Status    statusCommand    `cmd:"" help:"Show the progress of studies, and which clients they wait for."`
	Watch     watchCommand     `cmd:"" help:"Follow a study until its end."`
	Start     startCommand     `cmd:"" help:"Begin a study with the clients that have consented."`
	Posterior posteriorCommand `cmd:"" help:"Print the posterior of a study."`
	Exclude   excludeCommand   `cmd:"" help:"Leave a client out of the rest of a study."`
	Revoke    revokeCommand    `cmd:"" help:"Revoke the keys of a client, because they were stolen or lost."`
	Rotate    rotateCommand    `cmd:"" help:"Make new keys for the coordinator in a study."`
	Keys      keysCommand      `cmd:"" help:"List, protect or unprotect the key files."`
	Abort     abortCommand     `cmd:"" help:"End a study early, for all clients."`
	Bundle    bundleCommand    `cmd:"" help:"Write the transcript and keys of a study to one file."`
	Report    reportCommand    `cmd:"" help:"Check a bundle, and write a report on its study as one HTML page."`
	Verify    verifyCommand    `cmd:"" help:"Check a bundle. Needs no network and no keys."`

	CheckConfig checkCommand   `cmd:"" help:"Check a study file and the state directory without changing anything."`
	Completion  cli.Completion `cmd:"" help:"Print a script for shell completion: source <(coordinator completion bash)."`
	Man         cli.Manual     `cmd:"" help:"Print the manual page: coordinator man | man -l -."`
}

var program = cli.Program{Name: "coordinator", Description: description, Exits: []cli.Exit{
	{Code: exitOK, Meaning: "Success."},
	{Code: exitFailed, Meaning: "Failure: a disk, a file, another process that has the state directory open, or a study that was aborted. The message gives the reason."},
	{Code: exitUsage, Meaning: "The command line or a name in it cannot be used, or --unlock does not open the keys."},
	{Code: exitRefused, Meaning: "coordinator verify found a fault in a bundle. The message names the entry."},
	{Code: exitDamaged, Meaning: "The state directory is damaged, or a newer version wrote it."},
	{Code: exitNotArrived, Meaning: "coordinator posterior --arrived: the posterior was printed, but the rounds have not converged."},
	{Code: exitInterrupted, Meaning: "Interrupted by a signal. Run the command again: a study continues where it was."},
}}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var c commands
	return cli.Run(context.Background(), program, &c, args, func(ctx context.Context, command *kong.Context) int {
		if err := command.Run(&environment{ctx, c.State, c.chosen(), c.Audit, keyfile.Unlock{File: c.Unlock, UI: keyfile.Terminal(os.Stderr)}, c.Quiet}); err != nil {
			return report(err, slices.Contains(args, "--json"))
		}
		return exitOK
	})
}

// environment has the context, the state directory and the common flags of a command.
type environment struct {
	ctx    context.Context
	state  string
	chosen string   // result of commands.chosen
	audit  []string // destinations of the audit log
	unlock keyfile.Unlock
	quiet  bool // whether to print only results, warnings and errors
}

// chosen returns the state directory for command lines that messages suggest. It returns "" if the
// directory is the default, or if FEDPVI_COORDINATOR_STATE sets it.
func (c *commands) chosen() string {
	usual, err := filepath.Abs("fedpvi-coordinator")
	if err == nil && c.State == usual || os.Getenv("FEDPVI_COORDINATOR_STATE") != "" {
		return ""
	}
	return c.State
}

func report(err error, asJSON bool) int {
	code := codeOf(err)
	if asJSON && code != exitNotArrived { // if the code is exitNotArrived, the JSON of the posterior has already been printed
		if e := cli.PrintJSON(map[string]any{"error": err.Error(), "code": code}); e != nil {
			err = errors.Join(err, e)
		}
	}
	if code != exitInterrupted {
		fmt.Fprintf(os.Stderr, "coordinator: %v%s\n(exit code %d: docs/use/exit-codes.md)\n", err, cli.Remedy(err), code)
	}
	return code
}

func codeOf(err error) int {
	var fault *bundle.Fault
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &fault):
		return exitRefused
	case errors.Is(err, store.ErrFormat), errors.Is(err, store.ErrDamaged), errors.Is(err, keyfile.ErrDamaged):
		return exitDamaged
	case errors.Is(err, errNotArrived):
		return exitNotArrived
	case errors.Is(err, identity.ErrName), errors.Is(err, keyfile.ErrLocked):
		return exitUsage
	}
	return exitFailed
}
