package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/bundle"
	"fedpvi/internal/cli"
	"fedpvi/pvi/page"
)

type reportCommand struct {
	File  string `arg:"" optional:"" name:"bundle" help:"Bundle of a study that is over (coordinator bundle). Default: the study in the state directory." type:"existingfile"`
	Study string `help:"Without a bundle: name of the study, or the first digits of its digest. Default: the only one." placeholder:"STUDY"`
	Out   string `help:"HTML file to write. It must not exist. Default: STUDY.html." type:"path" placeholder:"FILE"`
}

func (reportCommand) Help() string {
	return `Examples:

  coordinator report
  coordinator report readmission.bundle --out readmission.html

The page has the question, the participants, the effects with their intervals, the privacy
statement, the verification of the transcript, and a text about the methods with references. It
needs no network, and prints well. Whoever has the bundle can write it.`
}

func (c *reportCommand) Run(e *environment) error {
	r, err := c.page(e)
	if err != nil {
		return err
	}
	r.Program, r.Date = "fedpvi "+cli.Version(), time.Now().Format("2 January 2006")
	path := c.Out
	if path == "" {
		path = r.Protocol.Study().Name + ".html"
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := errors.Join(page.Write(out, r), out.Close()); err != nil {
		return err
	}
	fmt.Printf("%s: open it in a browser to read it and to print it\n", fromHere(path))
	return nil
}

// page verifies a bundle and returns the data of the report page. If the command names no bundle,
// the bundle is made from the study in the state directory.
func (c *reportCommand) page(e *environment) (r *page.Report, err error) {
	if c.File == "" {
		err = e.with(func(api admin.API) error {
			study, err := e.one(api, c.Study)
			if err != nil {
				return err
			}
			r, err = admin.Report(e.ctx, api, study.Digest)
			return err
		})
		return r, err
	}
	if c.Study != "" {
		return nil, errors.New("--study is for the state directory: leave it out, or leave out the bundle")
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, err
	}
	r, err = bundle.Page(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return r, nil
}
