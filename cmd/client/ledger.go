package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/internal/cli"
	"fedpvi/pvi/words"
)

type ledgerCommand struct {
	Show   ledgerShow   `cmd:"" default:"withargs" help:"Show what was spent, by study, and what is left."`
	Export ledgerExport `cmd:"" help:"Write the ledger as signed lines of JSON."`
	Verify ledgerVerify `cmd:"" help:"Check every signature and link, and recompute every cost."`
}

type ledgerShow struct{}

func (ledgerShow) Help() string {
	return `Examples:

  client ledger
  client ledger show --json | jq '.accounts[].left'`
}

func (ledgerShow) Run(c *commands) error {
	k, err := c.open()
	if err != nil {
		return err
	}
	defer k.Close()
	accounts := k.Store().Accounts()
	if c.JSON {
		sequence, head := k.Store().Head()
		return cli.PrintJSON(map[string]any{"entries": sequence, "head": head, "accounts": accounts})
	}
	return showAccounts(os.Stdout, accounts)
}

func showAccounts(w io.Writer, accounts []ledger.Account) error {
	if len(accounts) == 0 {
		_, err := fmt.Fprintln(w, "There is no budget yet: client approve creates the first one.")
		return err
	}
	for i, a := range accounts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n\n", a.Dataset, a.Budget.InWords())
		rows := [][]string{{"study", "answers", "spent", "last"}}
		for _, s := range a.Studies {
			rows = append(rows, []string{s.Study.String()[:12], fmt.Sprint(s.Answers), words.Number(s.Spent), s.Last.Format(time.DateOnly)})
		}
		rows = append(rows, []string{"left", "", a.Remaining(), ""}, []string{"of", "", words.Number(a.Total), ""})
		if err := words.Table(w, "  ", 1, rows); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n  In words, for all studies together: %s.\n  %s\n",
			words.Guess(a.Budget.Protects(), a.Budget.Adjacency, a.RightGuess()), words.Coin)
		fmt.Fprintf(w, "\n  %s\n", a.Counted())
	}
	return nil
}

type ledgerExport struct {
	Out string `help:"File to write. It must not exist. Default: standard output." placeholder:"FILE"`
}

func (ledgerExport) Help() string {
	return `Examples:

  client ledger export --out ledger.jsonl
  client ledger export | gzip > ledger.jsonl.gz

The export contains no records. It lists each release with its cost, study and time. Anybody
who has it can check it with client ledger verify FILE.`
}

func (e *ledgerExport) Run(c *commands) error {
	k, err := c.open()
	if err != nil {
		return err
	}
	defer k.Close()
	if e.Out == "" {
		return k.Store().Export(os.Stdout, time.Now())
	}
	f, err := os.OpenFile(e.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return &client.UsageError{Err: err}
	}
	return errors.Join(k.Store().Export(f, time.Now()), f.Sync(), f.Close())
}

type ledgerVerify struct {
	File string `arg:"" optional:"" help:"An exported ledger. Default: the ledger of the state directory."`
}

func (ledgerVerify) Help() string {
	return `Examples:

  client ledger verify                the ledger of the state directory
  client ledger verify ledger.jsonl   an export, without a state directory

Compare the fingerprint that it prints with that of the data holder.`
}

func (v *ledgerVerify) Run(c *commands) error {
	report, err := v.verify(c)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(report)
	}
	fmt.Printf("The ledger is intact: %d entries of the data holder %s; every signature and link checked, every cost recomputed.\n\n", report.Title.Entries, report.Fingerprint)
	return showAccounts(os.Stdout, report.Accounts)
}

func (v *ledgerVerify) verify(c *commands) (*ledger.Report, error) {
	if v.File != "" {
		f, err := os.Open(v.File)
		if err != nil {
			return nil, &client.UsageError{Err: err}
		}
		defer f.Close()
		return ledger.Verify(f)
	}
	k, err := c.open() // opening the client also checks the ledger
	if err != nil {
		return nil, err
	}
	defer k.Close()
	in, out := io.Pipe()
	go func() { out.CloseWithError(k.Store().Export(out, time.Now())) }()
	return ledger.Verify(in)
}
