package main

import (
	"context"
	"errors"
	"io"
	"os"

	"fedpvi/internal/cli"
	"fedpvi/sim/report"
)

type compareCommand struct {
	Folders []string `arg:"" name:"folder" help:"Folders of results of sim run, two or more. Without --data also files with the output of coordinator posterior --json."`
	Data    string   `help:"File of records that no run has read: ${table}. Default: compare by the scores of the records that clients held out, with [compare] in the studies." type:"existingfile" placeholder:"FILE"`
	JSON    bool     `name:"json" help:"Print one JSON object on standard output and nothing else."`
}

func (compareCommand) Help() string {
	return `Examples:

  sim compare runs/line-seed-1 runs/curve-seed-1 --data new.csv
  sim compare first.json second.json

Compares models by how well they predict records. The run with the largest sum of log predictive
densities (elpd) comes first. The others follow with their differences and the standard errors of
the differences. The records must not be among those of the runs, because a posterior fits its own records
better than others. Without --data, studies with [compare] are compared by the noisy scores
of the records that their clients held out.`
}

// Validate returns an error if there are fewer than two folders.
func (c *compareCommand) Validate() error {
	if len(c.Folders) < 2 {
		return errors.New("a comparison needs the folders of two runs or more")
	}
	return nil
}

func (c *compareCommand) Run(ctx context.Context) error {
	comparison, err := c.compare(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(comparison)
	}
	return comparison.Write(os.Stdout)
}

func (c *compareCommand) compare(ctx context.Context) (interface{ Write(io.Writer) error }, error) {
	if c.Data == "" {
		return report.CompareScores(c.Folders)
	}
	return report.Compare(ctx, c.Folders, c.Data)
}
