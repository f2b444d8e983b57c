package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"fedpvi/client"
	"fedpvi/dpmech"
	"fedpvi/internal/cli"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/page"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

type checkCommand struct {
	File        string `arg:"" optional:"" name:"study-file" help:"Study file, if this client has not joined the study yet. Default: the study that it has joined." type:"existingfile"`
	Data        string `help:"Records: ${table}. Default: describe only the form of the records." placeholder:"FILE"`
	recordFlags `embed:""`
	Person      string `help:"Column that identifies the person of each row, to count persons with several rows. Default: the study's column." placeholder:"COLUMN"`
	HTML        string `name:"html" help:"Write the result as an HTML page to this file, and print nothing. The file must not exist." placeholder:"FILE"`
}

func (checkCommand) Help() string {
	return `Examples:

  client check                                        the form that records must have
  client check --data records.csv
  client check --data records.csv --person patient --html check.html
  client check study.toml --data records.csv          before this client joins the study

Reports which rows the study would use, which values do not fit and in which rows, and how to
correct them. The number of a row in a CSV file is the number of its line, where the header is line
1. In other tables, the first row has the number 1.

If the study is over, the command also compares the outcomes of these records with outcomes drawn
from the posterior. A star marks a statistic outside the central 95 % of draws: the model, or the
average over all clients, does not describe these records.

Nothing is sent. The result depends on single records and has no noise: store it as securely as the
records. The exit code does not depend on the records.`
}

func (r *checkCommand) Run(ctx context.Context, c *commands) error {
	if r.Data == "" && (r.Query != "" || r.Separator != "" || r.DecimalComma || r.Person != "") {
		return &client.UsageError{Err: errors.New("--query, --separator, --decimal-comma and --person need --data FILE")}
	}
	if r.File != "" {
		st, err := readStudy(r.File)
		if err != nil {
			return &client.UsageError{Err: err}
		}
		return r.examine(ctx, c, st, nil)
	}
	return c.with(func(k *client.Client, m *client.Member) error {
		p, err := ifOver(k, m)
		if err != nil {
			return err
		}
		return r.examine(ctx, c, m.Study, p)
	})
}

func ifOver(k *client.Client, m *client.Member) (*session.Posterior, error) {
	p, err := k.Posterior(m)
	if errors.Is(err, client.ErrNoResult) {
		return nil, nil
	}
	return p, err
}

// readStudy reads a study file, and the file with its program if there is one.
func readStudy(path string) (*study.Study, error) {
	document, err := os.ReadFile(path)
	if err == nil {
		document, err = study.Attach(path, document, os.ReadFile)
	}
	if err != nil {
		return nil, err
	}
	return study.Parse(path, document)
}

// examine examines the records for a study. It prints the result, or writes it to a page.
func (r *checkCommand) examine(ctx context.Context, c *commands, st *study.Study, p *session.Posterior) error {
	e, err := r.examined(ctx, c, r.Data, r.Person, st, p)
	if err != nil {
		return err
	}
	if r.HTML != "" {
		if err := writePage(r.HTML, e); err != nil {
			return &client.UsageError{Err: fmt.Errorf("--html: %w", err)}
		}
		if !c.JSON {
			return nil
		}
	}
	if c.JSON {
		out := map[string]any{"study": st.Name, "digest": st.Digest.String(), "columns": e.Columns()}
		if e.Of != nil {
			out["file"], out["records"], out["examination"], out["checks"] = e.File, e.Of.Records, e.Of, e.Checks
		}
		return cli.PrintJSON(out)
	}
	return cli.Print(os.Stdout, e.Write)
}

// examined examines records for a study. Without data, the result only tells which form the records
// must have. If p is not nil, the result also compares the records with this posterior.
func (r *recordFlags) examined(ctx context.Context, c *commands, data, person string, st *study.Study, p *session.Posterior) (*words.Examined, error) {
	e := &words.Examined{Study: st, File: data}
	if data == "" {
		return e, nil
	}
	source, err := r.source(c, data)
	if err != nil {
		return nil, err
	}
	records, found, err := client.ExamineRecords(ctx, st, source, person)
	if err != nil {
		return nil, err
	}
	e.Of = found
	if p != nil {
		e.Checks, err = compare(p, records)
	}
	return e, err
}

// compare checks how well a posterior predicts the records. If no outcomes can be drawn from the
// posterior, it returns nil.
func compare(p *session.Posterior, records *shard.Records) ([]fit.Check, error) {
	source := dpmech.NewStream()
	defer source.Wipe()
	checks, err := p.Check(records, source)
	if errors.Is(err, session.ErrNoPosterior) {
		return nil, nil
	}
	return checks, err
}

// writePage writes the page about an examination to a new file that only its owner can read.
func writePage(path string, e *words.Examined) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = page.WriteCheck(f, &page.Check{Examined: e, Program: version(), Date: time.Now().Format("2 January 2006")})
	return errors.Join(err, f.Close())
}
