package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fedpvi/internal/cli"
	"fedpvi/sim/draft"
)

type draftCommand struct {
	Dictionary string   `arg:"" help:"Data dictionary: Frictionless or CSVW (JSON), REDCap (CSV), or made-up records (CSV) with --made-up." type:"existingfile"`
	Outcome    string   `help:"Column that the model explains." required:"" placeholder:"COLUMN"`
	Terms      []string `help:"Columns that explain it. Default: the others, at most 12." placeholder:"COLUMN"`
	Person     string   `help:"Column that identifies the person of each row, if a person may have several rows." placeholder:"COLUMN"`
	Clients    int      `help:"Number of data holders." default:"3"`
	Epsilon    float64  `help:"Privacy target." default:"1"`
	Name       string   `help:"Name of the study: lower-case letters, digits and dashes." default:"study"`
	MadeUp     bool     `help:"The file has made-up records. Bounds and levels in a study are public, so never use private records."`
	Out        string   `help:"File to write. It must not exist. Default: standard output." placeholder:"FILE"`
}

func (draftCommand) Help() string {
	return `Examples:

  sim draft redcap.csv --outcome readmitted --out study.toml
  sim draft schema.json --outcome cost --terms age,sex,ward --clients 5
  sim draft example.csv --made-up --outcome y

Writes a first study file with a comment at every choice. It reads a public description of the
columns, and never private records.`
}

func (d *draftCommand) Run(common *cli.Common) error {
	if d.Clients < 2 || !(d.Epsilon > 0) {
		return fmt.Errorf("--clients must be at least 2, and --epsilon positive")
	}
	text, err := os.ReadFile(d.Dictionary)
	if err != nil {
		return err
	}
	dictionary, err := draft.Read(text, d.MadeUp)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(d.Dictionary), err)
	}
	made, err := draft.Study(dictionary, draft.Choices{
		Name: d.Name, Outcome: d.Outcome, Terms: d.Terms, Person: d.Person, Clients: d.Clients, Epsilon: d.Epsilon,
	})
	if err != nil {
		return err
	}
	if d.Out == "" {
		_, err = os.Stdout.WriteString(made.Text)
	} else {
		err = writeNew(d.Out, made.Text)
	}
	if err != nil {
		return err
	}
	if len(made.Open) > 0 && !common.Quiet {
		fmt.Fprintf(os.Stderr, "Choices that are left:\n  %s\n", strings.Join(made.Open, "\n  "))
	}
	return nil
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
