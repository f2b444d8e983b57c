package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"fedpvi/coordinator/bundle"
	"fedpvi/internal/cli"
	"fedpvi/pvi/page"
)

type reportCommand struct {
	File string `arg:"" name:"bundle" help:"Bundle of a study that is over (coordinator bundle)." type:"existingfile"`
	Out  string `help:"HTML file to write. It must not exist." required:"" placeholder:"FILE"`
}

func (reportCommand) Help() string {
	return `Examples:

  coordinator bundle --out readmission.bundle
  coordinator report readmission.bundle --out readmission.html

The page has the question, the participants, the effects with their intervals, the privacy
statement, the verification of the bundle, and a text about the methods with references. It needs
no network, and prints well. Whoever has the bundle can write it.`
}

func (c *reportCommand) Run(*environment) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	r, err := bundle.Page(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	r.Program, r.Date = "fedpvi "+cli.Version(), time.Now().Format("2 January 2006")
	out, err := os.OpenFile(c.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(page.Write(out, r), out.Close())
}
