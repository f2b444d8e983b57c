package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/bundle"
	"fedpvi/internal/cli"
	"fedpvi/pvi/page"
	"fedpvi/pvi/words"
)

type reportCommand struct {
	File  string `arg:"" optional:"" name:"bundle" help:"Bundle of a study that is over (coordinator bundle). Default: the study in the state directory." type:"existingfile"`
	Study string `help:"Without a bundle: name of the study, or the first digits of its digest. Default: the only one." placeholder:"STUDY"`
	Out   string `help:"HTML file to write. It must not exist. Default: STUDY.html." type:"path" placeholder:"FILE"`

	Pictures string `help:"Folder for the pictures of the effects as SVG files, for a paper. It must not exist." type:"path" placeholder:"FOLDER"`
}

func (reportCommand) Help() string {
	return `Examples:

  coordinator report
  coordinator report readmission.bundle --out readmission.html
  coordinator report readmission.bundle --pictures figures

The page has the question, the participants, the effects with their intervals, the privacy
statement, the verification of the transcript, and a text about the methods with references. It
works without a network, and can be printed. Anybody who has the bundle can make the report.`
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
	if c.Pictures != "" {
		if err := writePictures(c.Pictures, r); err != nil {
			return fmt.Errorf("--pictures: %w", err)
		}
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

func writePictures(folder string, r *page.Report) error {
	files, err := r.Files()
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("the report has no effects with intervals to draw: leave the option out")
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("%w: choose a new folder", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %s\n", fromHere(folder), words.Plural(len(files), "picture"))
	return nil
}

// page verifies a bundle and returns the data for the report page. If the command line has no
// bundle, the report is about the study in the state directory.
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
		return nil, errors.New("--study chooses a study in the state directory: leave out --study or the bundle")
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
