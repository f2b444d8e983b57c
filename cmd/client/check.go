package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"fedpvi/client"
	"fedpvi/dpmech"
	"fedpvi/internal/cli"
	"fedpvi/pvi/session"
	"fedpvi/pvi/words"
)

type checkCommand struct {
	Data        string `help:"Records: a CSV file (plain, gzip or zstd), a Parquet file, or the address of a PostgreSQL database." required:"" placeholder:"FILE"`
	recordFlags `embed:""`
}

func (checkCommand) Help() string {
	return `Examples:

  client check --data records.csv
  client check --study readmission --data records.csv --json

Compares the outcomes of these records with outcomes that the posterior of a finished study
draws for them. A star marks a statistic outside the central 95 % of draws: the model, or the
average over all clients, does not describe these records. Nothing is sent. The table depends on
single records without any noise: keep it as the records are kept.`
}

var errNotOver = errors.New("the study is not over: it has no posterior yet")

func (r *checkCommand) Run(ctx context.Context, c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		p, err := over(k, m)
		if err != nil {
			return err
		}
		data, err := r.source(r.Data)
		if err != nil {
			return err
		}
		records, _, _, err := k.Read(ctx, m, data)
		if err != nil {
			return err
		}
		source := dpmech.NewStream()
		defer source.Wipe()
		checks, err := p.Check(records, source)
		switch {
		case errors.Is(err, session.ErrNoPosterior):
			return &client.UsageError{Err: err}
		case err != nil:
			return err
		case c.JSON:
			return cli.PrintJSON(map[string]any{"study": m.Study.Name, "records": records.Len(), "checks": checks})
		}
		fmt.Printf("Outcomes of %d records, and outcomes drawn for them from the posterior of %s. Keep this table as the records are kept.\n\n", records.Len(), m.Study.Name)
		return words.Checks(os.Stdout, checks)
	})
}

// over returns the posterior of a study that is over.
func over(k *client.Client, m *client.Member) (*session.Posterior, error) {
	ending, err := k.Ending(m)
	if err != nil {
		return nil, err
	}
	if ending == nil || ending.Aborted {
		return nil, &client.UsageError{Err: errNotOver}
	}
	var result session.Result
	if err := json.Unmarshal(ending.Result, &result); err != nil {
		return nil, err
	}
	return session.Describe(m.Study, &result)
}
