package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"fedpvi/internal/cli"
	"fedpvi/pvi/words"
	"fedpvi/sim/report"
)

type predictCommand struct {
	Folder string `arg:"" help:"Folder of results of sim run." type:"existingdir"`
	Data   string `help:"File of records: ${table}." required:"" type:"existingfile" placeholder:"FILE"`
	Out    string `help:"File to write the predictions to (CSV). It must not exist." required:"" placeholder:"FILE"`
	JSON   bool   `name:"json" help:"Print one JSON object on standard output and nothing else."`
}

func (predictCommand) Help() string {
	return `Examples:

  sim predict runs/visits-seed-1 --data new.csv --out predictions.csv

Predicts quantities of each record from the posterior of a run, as client predict does for a
federation. If the program of the study generates quantities for records, the command predicts
these. Otherwise it predicts the log density of each record (log_lik), the expected outcome and
a new outcome (_rep), as far as the model has them. If the records lack the outcome, it leaves
out the quantities that need it.`
}

func (c *predictCommand) Run(ctx context.Context) (err error) {
	st, p, err := report.Load(c.Folder)
	if err != nil {
		return err
	}
	records, read, err := report.ReadNew(ctx, st, c.Data)
	if err != nil {
		return err
	}
	predicted, err := p.Predict(records)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(c.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	densities, err := words.PredictedCSV(f, records, predicted)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(c.Out))
	}
	summary := words.NewPredictions(records, read, predicted, densities)
	if c.JSON {
		return cli.PrintJSON(summary)
	}
	_, err = fmt.Print(summary)
	return err
}
