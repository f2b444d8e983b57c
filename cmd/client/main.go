// Command client takes part in federated studies for a data holder. See client --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"fedpvi/client"
	"fedpvi/internal/audit"
	"fedpvi/internal/cli"
)

const description = `Take part in federated, differentially private studies.

The records stay on this machine. It sends only numbers with noise, for studies that you
have approved, within your own policy and budget.

  client join invitation.txt          make keys and redeem an invitation
  client review                       read the study: what leaves, and what it costs
  client approve --yes DIGEST         consent to exactly that study
  client run --data records.csv       take part until the study is over
  client ledger                       see what was spent, by study, and what is left
  client web                          the same in a browser: review, decide, ledger, result
  client report                       the result as a page to read, print and send
  client doctor                       check everything that a run needs

At a terminal one command is enough:

  client run --join invitation.txt --data records.csv --approve`

type commands struct {
	cli.Common

	State string `help:"State directory: keys, policy, ledger. Default: fedpvi in $XDG_STATE_HOME or ~/.local/state, or on Windows in %LocalAppData%." env:"FEDPVI_STATE" placeholder:"DIR"`
	Study string `help:"Name or first digits of the study. Default: the only one." placeholder:"STUDY"`
	JSON  bool   `name:"json" help:"Print one JSON object on standard output and nothing else."`
	Log   string `help:"Format of the log on standard error." enum:"auto,json,text" default:"auto"`

	Audit []string `help:"Destination of the audit log: the path of a file, syslog:///dev/log, syslog+udp://HOST:PORT, syslog+tcp://HOST:PORT, or a collector for OpenTelemetry logs as otlp+http://HOST:PORT or otlp+https://HOST:PORT. May be repeated. It records orders with the user who gave them, connections, answers with their charges, and verdicts. Default: none." env:"FEDPVI_AUDIT" sep:"none" placeholder:"WHERE"`

	Unlock string `help:"File with the passphrase or the age identities that open protected keys. Default: ask for the passphrase." env:"FEDPVI_UNLOCK" placeholder:"FILE"`

	Join       joinCommand       `cmd:"" help:"Redeem an invitation, with newly made keys."`
	Review     reviewCommand     `cmd:"" help:"Describe a study in plain words: what leaves, and what it costs."`
	Approve    approveCommand    `cmd:"" help:"Consent to a reviewed study."`
	Run        runCommand        `cmd:"" help:"Take part in an approved study until it is over."`
	Web        webCommand        `cmd:"" help:"Serve pages to review and decide in a browser."`
	Status     statusCommand     `cmd:"" help:"List the studies and their state."`
	Ledger     ledgerCommand     `cmd:"" help:"Show, export or verify the spending."`
	Roster     rosterCommand     `cmd:"" help:"List the members of a study with their fingerprints."`
	Rotate     rotateCommand     `cmd:"" help:"Make new keys for a study, to replace keys that are old or may be stolen."`
	Keys       keysCommand       `cmd:"" help:"List, protect or unprotect the key files."`
	Transcript transcriptCommand `cmd:"" help:"Show or export the history of a study that this client has followed."`
	Verify     verifyCommand     `cmd:"" help:"Check a coordinator's bundle, and compare it with the history that this client has followed."`
	Doctor     doctorCommand     `cmd:"" help:"Check everything that a run needs. Each failure has a remedy."`
	Check      checkCommand      `cmd:"" help:"List the records that do not fit a study, with remedies. Nothing is sent."`
	Report     reportCommand     `cmd:"" help:"Write the report on a study that is over, as a page to read, print and send."`
	Predict    predictCommand    `cmd:"" help:"Predict for records with the posterior of a finished study. Nothing is sent."`
	Leave      leaveCommand      `cmd:"" help:"Leave a study for good."`
	Completion cli.Completion    `cmd:"" help:"Print a script for shell completion: source <(client completion bash)."`
	Man        cli.Manual        `cmd:"" help:"Print the manual page: client man | man -l -."`

	Platform platform `embed:""`

	audited *audit.Log // nil if there is no audit log
	command string     // words of the command, such as "ledger show", without flags and arguments; other processes see it
}

var program = cli.Program{Name: "client", Description: description, Words: map[string]string{
	"table": "a CSV file (plain, gzip or zstd), a Parquet or Arrow file, an SQLite database, or the address of a PostgreSQL database",
}, Exits: []cli.Exit{
	{Code: client.OK, Meaning: "Success."},
	{Code: client.Failed, Meaning: "Failure: a disk, a file, another process that has the state directory open, or a study that was aborted. The message gives the reason."},
	{Code: client.Usage, Meaning: "The command line, the policy, the file of records or the invitation cannot be used, or --unlock does not open the keys. The message gives the place."},
	{Code: client.Declined, Meaning: "Refused by the policy, by the rules of the study, or by the coordinator; or the study is not approved. Nothing was sent."},
	{Code: client.OverBudget, Meaning: "The privacy budget of the data set has no room for the study or the answer."},
	{Code: client.Damaged, Meaning: "The state directory is damaged, or older than a message that was sent from it. Do not make a new one for the same records."},
	{Code: client.Unreachable, Meaning: "The coordinator could not be reached for as long as --patience allows. Run the command again."},
	{Code: client.Fruitless, Meaning: "Three answers in a row were charged and could not be computed. Do not restart automatically."},
	{Code: client.Interrupted, Meaning: "Interrupted by a signal. Run the command again: it continues where it was."},
}}

// chatty reports whether the command may print progress and notes for a person on standard error.
func (c *commands) chatty() bool { return !c.Quiet && cli.Terminal(os.Stderr) }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int { return runUntil(context.Background(), args) }

// runUntil runs a command line. When ctx ends, the command ends in the same way as after a signal.
func runUntil(ctx context.Context, args []string) int {
	var c commands
	return cli.Run(ctx, program, &c, args, func(ctx context.Context, command *kong.Context) int {
		c.command, _, _ = strings.Cut(command.Command(), " <")
		err := c.openAudit(ctx)
		if err == nil {
			err = errors.Join(command.Run(&c), c.audited.Close())
		}
		return c.finish(err)
	})
}

func (c *commands) finish(err error) int {
	code := client.CodeOf(err)
	var told *toldError
	switch {
	case err == nil || errors.As(err, &told):
	case code == client.Interrupted:
		fmt.Fprintln(os.Stderr, "client: interrupted; run the command again to continue")
	default:
		fmt.Fprintf(os.Stderr, "client: %v%s\n(exit code %d: docs/use/exit-codes.md)\n", err, cli.Remedy(err), code)
	}
	if c.JSON && err != nil && told == nil {
		_ = cli.PrintJSON(map[string]any{"error": err.Error(), "code": code}) // if printing fails, there is nowhere else to report the error
	}
	return code
}

// A toldError is an error that the user has already been told.
type toldError struct{ error }

func (t *toldError) Unwrap() error { return t.error }
