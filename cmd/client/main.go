// Command client is a data holder's side of a federated study. See client --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"fedpvi/client"
	"fedpvi/internal/cli"
)

const description = `Take part in federated, differentially private studies.

The records stay here. What leaves is numbers with noise, of studies that you have
approved, within a policy and a budget that are yours.

  client join invitation.txt          make keys, redeem an invitation
  client review                       the study in plain words: what leaves, at what cost
  client approve --yes DIGEST         consent to exactly that study
  client run --data records.csv       take part until the study is over
  client ledger                       what was spent, on what, and what is left
  client doctor                       is everything as it should be?

Two commands are enough at a terminal:

  client join invitation.txt
  client run --data records.csv --approve`

type commands struct {
	State string `help:"State directory: keys, policy, ledger. Default: fedpvi in $XDG_STATE_HOME or ~/.local/state." env:"FEDPVI_STATE" placeholder:"DIR"`
	Study string `help:"Name or first digits of a study, where several were joined." placeholder:"STUDY"`
	JSON  bool   `name:"json" help:"Print one JSON object on standard output, and nothing else there."`
	Log   string `help:"Form of the log on standard error." enum:"auto,json,text" default:"auto"`

	Join       joinCommand    `cmd:"" help:"Redeem an invitation, with keys that are made here."`
	Review     reviewCommand  `cmd:"" help:"Say in plain words what a study is, what leaves, and at what cost."`
	Approve    approveCommand `cmd:"" help:"Consent to a study that was reviewed."`
	Run        runCommand     `cmd:"" help:"Take part in an approved study until it is over."`
	Status     statusCommand  `cmd:"" help:"List the studies, and how they stand."`
	Ledger     ledgerCommand  `cmd:"" help:"Show, export or verify what was spent."`
	Doctor     doctorCommand  `cmd:"" help:"Check everything that a run needs, and say what to mend."`
	Leave      leaveCommand   `cmd:"" help:"Take no part in a study any more, for good."`
	Completion cli.Completion `cmd:"" help:"Print a script that completes commands: source <(client completion bash)."`
	Man        cli.Manual     `cmd:"" help:"Print the manual page: client man | man -l -."`
}

var program = cli.Program{Name: "client", Description: description, Exits: []cli.Exit{
	{Code: client.OK, Meaning: "Success."},
	{Code: client.Failed, Meaning: "Failure: a disk, a file, another process that has the state directory open, or a study that was aborted. The message gives the reason."},
	{Code: client.Usage, Meaning: "The command line, the policy, the file of records or the invitation cannot be used. The message gives the place."},
	{Code: client.Declined, Meaning: "Refused by the policy, by the rules of the study, or by the coordinator; or the study is not approved. Nothing was sent."},
	{Code: client.OverBudget, Meaning: "The privacy budget of the data set has no room for the study or the answer."},
	{Code: client.Damaged, Meaning: "The state directory is damaged, or older than what was sent from it. Do not make a new one for the same records."},
	{Code: client.Unreachable, Meaning: "The coordinator could not be reached for as long as --patience allows. Run the command again."},
	{Code: client.Fruitless, Meaning: "Three answers in a row were charged and could not be computed. Do not restart automatically."},
	{Code: client.Interrupted, Meaning: "Interrupted by a signal. Run the command again: it continues where it was."},
}}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var c commands
	return cli.Run(program, &c, args, func(_ context.Context, command *kong.Context) int {
		return c.finish(command.Run(&c))
	})
}

// finish says what went wrong.
func (c *commands) finish(err error) int {
	code := client.CodeOf(err)
	var told *toldError
	switch {
	case err == nil || errors.As(err, &told):
	case code == client.Interrupted:
		fmt.Fprintln(os.Stderr, "client: interrupted; client run goes on where it was")
	default:
		fmt.Fprintf(os.Stderr, "client: %v\n(exit code %d: docs/use/exit-codes.md)\n", err, code)
	}
	if c.JSON && err != nil && told == nil {
		_ = print(os.Stdout, map[string]any{"error": err.Error(), "code": code}) // nothing is left to tell
	}
	return code
}

// toldError is an error whose text the user has seen.
type toldError struct{ error }

func (t *toldError) Unwrap() error { return t.error }
