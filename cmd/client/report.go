package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"fedpvi/client"
	"fedpvi/internal/cli"
	"fedpvi/pvi/page"
)

type reportCommand struct {
	Out string `help:"HTML file to write. It must not exist. Default: STUDY.html." placeholder:"FILE"`
}

func (reportCommand) Help() string {
	return `Examples:

  client report
  client --study readmission report --out readmission.html

The page has the question, the participants, the effects with their intervals, the privacy
statement, the checks that this client has made, and a text about the methods with references. It
works without a network, and can be printed. Its numbers come from the published result alone, and
not from the records or the ledger of this client: all clients of the study get the same report.
Nothing is sent.`
}

func (r *reportCommand) Run(c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		report, err := k.Report(m)
		if err != nil {
			return err
		}
		report.Program, report.Date = "fedpvi "+cli.Version(), time.Now().Format("2 January 2006")
		path := r.Out
		if path == "" {
			path = m.Study.Name + ".html"
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return &client.UsageError{Err: fmt.Errorf("--out: %w", err)}
		}
		if err := errors.Join(page.Write(f, report), f.Close()); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		if c.JSON {
			return cli.PrintJSON(map[string]any{"file": path})
		}
		fmt.Printf("%s: open it in a browser to read it and to print it\n", path)
		return nil
	})
}
