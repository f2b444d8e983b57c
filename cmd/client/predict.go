package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"fedpvi/client"
	"fedpvi/internal/cli"
	"fedpvi/pvi/words"
)

type predictCommand struct {
	Data        string `help:"Records: ${table}." required:"" placeholder:"FILE"`
	Out         string `help:"File to write the predictions to (CSV). It must not exist. Only its owner may read it." required:"" placeholder:"FILE"`
	recordFlags `embed:""`
}

func (predictCommand) Help() string {
	return `Examples:

  client predict --data new.csv --out predictions.csv
  client predict --study readmission --data records.csv --out predictions.csv

Predicts quantities of each record from the posterior of a finished study. If the program of the
study generates quantities for records, the command predicts these. Otherwise it predicts the log
density of each record (log_lik), the expected outcome and a new outcome (_rep), as far as the
model has them. If the records lack the outcome, it leaves out the quantities that need it. The
file has the mean, sd and quantiles of each quantity over 1,024 draws from the posterior. Nothing
is sent, and nothing is charged. The file depends on single records and has no noise: store it as
securely as the records.`
}

func (r *predictCommand) Run(ctx context.Context, c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		p, err := k.Posterior(m)
		if err != nil {
			return err
		}
		data, err := r.source(c, r.Data)
		if err != nil {
			return err
		}
		records, report, err := client.ReadNew(ctx, m, data)
		if err != nil {
			return err
		}
		predicted, err := p.Predict(records)
		if err != nil {
			return &client.UsageError{Err: err}
		}
		f, err := os.OpenFile(r.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return &client.UsageError{Err: err}
		}
		densities, err := words.PredictedCSV(f, records, predicted)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return errors.Join(err, os.Remove(r.Out))
		}
		summary := words.NewPredictions(records, report, predicted, densities)
		if c.JSON {
			return cli.PrintJSON(summary)
		}
		fmt.Print(summary)
		fmt.Printf("%s depends on single records: store it as securely as the records.\n", r.Out)
		return nil
	})
}
