package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/bundle"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/cli"
	"fedpvi/pvi/study"
)

type startCommand struct {
	studyArg
	jsonFlag
}

func (startCommand) Help() string {
	return `Examples:

  coordinator start
  coordinator start blood-pressure --json

A study begins by itself when all invited clients have consented. This command begins it with
those that have consented, if there are enough of them. The others cannot join later.`
}

func (c *startCommand) Run(e *environment) error {
	return c.give(e, c.Study, func(api admin.API) error { return api.Begin(e.ctx, c.Study) })
}

// give calls order, and then prints the status of the study.
func (f jsonFlag) give(e *environment, study string, order func(admin.API) error) error {
	return e.with(func(api admin.API) error {
		if err := order(api); err != nil {
			return err
		}
		return f.report(e, api, study)
	})
}

// report prints the status of one study. If study is empty, it prints the status of all studies.
func (f jsonFlag) report(e *environment, api admin.API, study string) error {
	all, err := api.Status(e.ctx, study)
	if err != nil {
		return err
	}
	return printStatuses(all, f.JSON)
}

type excludeCommand struct {
	jsonFlag
	Client string `arg:"" help:"Name of the client." placeholder:"NAME"`
	Study  string `help:"Name of the study, or the first digits of its digest. Default: the only one." placeholder:"STUDY"`
	Why    string `help:"Reason for all clients, one line. It is signed into the transcript." required:"" placeholder:"TEXT"`
}

func (excludeCommand) Help() string {
	return `Examples:

  coordinator exclude west --why "its answers made three rounds fail"

The client takes no part in any later round, and the transcript tells all clients the reason. The
study continues if enough clients are left. If the coordinator opens the messages of each client,
coordinator status shows the influence of the clients.`
}

func (c *excludeCommand) Run(e *environment) error {
	names, err := parseNames([]string{c.Client})
	if err != nil {
		return err
	}
	return c.give(e, c.Study, func(api admin.API) error { return api.Exclude(e.ctx, c.Study, names[0], c.Why) })
}

type abortCommand struct {
	studyArg
	jsonFlag
	Reason string `help:"Reason for all clients, one line." required:"" placeholder:"TEXT"`
}

func (abortCommand) Help() string {
	return `Examples:

  coordinator abort --reason "the protocol was withdrawn"

The study ends for all clients and cannot continue. Their charges for it stay spent.`
}

func (c *abortCommand) Run(e *environment) error {
	return c.give(e, c.Study, func(api admin.API) error { return api.Abort(e.ctx, c.Study, c.Reason) })
}

type bundleCommand struct {
	studyArg
	jsonFlag
	Out string `help:"File to write. It must not exist. Default: STUDY.bundle." type:"path" placeholder:"FILE"`
}

func (bundleCommand) Help() string {
	return `Examples:

  coordinator bundle
  coordinator bundle blood-pressure --out record.bundle

A bundle contains no records. Anybody can check it with coordinator verify.`
}

func (c *bundleCommand) Run(e *environment) error {
	return e.with(func(api admin.API) error {
		study, err := e.one(api, c.Study)
		if err != nil {
			return err
		}
		path := c.Out
		if path == "" {
			path = study.Study + ".bundle"
		}
		if err := writeNew(path, func(w io.Writer) error { return api.Bundle(e.ctx, study.Digest, w) }); err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(map[string]string{"file": path})
		}
		fmt.Printf("%s: check it with coordinator verify %s\n", path, path)
		return nil
	})
}

// writeNew creates a file, and calls write to fill it. If write fails, it removes the file. If the
// file already exists, it returns an error.
func writeNew(path string, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s already exists: choose another file with --out", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".bundle-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

type verifyCommand struct {
	File    string   `arg:"" name:"bundle" help:"Bundle." type:"existingfile"`
	Exports []string `arg:"" optional:"" name:"export" help:"Transcripts that clients have exported (client transcript export)." type:"existingfile"`
	jsonFlag
	Coordinator string `help:"Fingerprint that the coordinator must have, from an invitation or a client's review." placeholder:"HEX"`
}

func (verifyCommand) Help() string {
	return `Examples:

  coordinator verify blood-pressure.bundle
  coordinator verify blood-pressure.bundle --coordinator FINGERPRINT
  coordinator verify blood-pressure.bundle north.transcript south.transcript

The command recomputes the whole study from the opened sums. With exports of clients it also checks
that all have seen the same history. If it finds a fault, it names the place and exits with 3.`
}

func (c *verifyCommand) Run(*environment) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := bundle.Verify(f)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if err := c.compare(); err != nil {
		return err
	}
	if c.Coordinator != "" {
		var want identity.Fingerprint
		if err := want.UnmarshalText([]byte(c.Coordinator)); err != nil {
			return fmt.Errorf("--coordinator: %w", err)
		}
		if r.Coordinator != want {
			return &bundle.Fault{Where: c.File, Err: fmt.Errorf("it belongs to another coordinator, %v", r.Coordinator)}
		}
	}
	if c.JSON {
		return cli.PrintJSON(r)
	}
	fmt.Printf("%s: valid.\n\n", c.File)
	fmt.Printf("  study        %s, %s\n  coordinator  %v\n  clients      %s\n  entries      %d, the last: %s\n  plans        %d, with %d answers\n",
		r.Study, r.Digest, r.Coordinator, coordinator.List(r.Clients), r.Entries, r.Ending, r.Questions, r.Answers)
	if r.Signed > 0 {
		fmt.Printf("  releases     %d are published, each with the signature of its client, and add up to the sums\n", r.Signed)
	}
	return nil
}

// compare compares the transcript in the bundle with the clients' exports, and the exports with
// each other.
func (c *verifyCommand) compare() error {
	if len(c.Exports) == 0 {
		return nil
	}
	history, err := bundle.Entries(func() (io.ReadCloser, error) { return os.Open(c.File) })
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	seen := [][]transcript.Entry{history.All}
	for _, file := range c.Exports {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var x transcript.Export
		if err := json.Unmarshal(b, &x); err != nil {
			return fmt.Errorf("%s: this is not an exported transcript: %w", file, err)
		}
		entries, err := x.Entries(history.Study, history.Coordinator)
		if err != nil {
			return &bundle.Fault{Where: file, Err: err}
		}
		for _, other := range seen {
			if _, err := transcript.Compare(other, entries); err != nil {
				return &bundle.Fault{Where: file, Err: err}
			}
		}
		seen = append(seen, entries)
	}
	return nil
}

type checkCommand struct {
	File string `arg:"" optional:"" name:"study" help:"Study file to check as well." type:"existingfile"`
	jsonFlag
}

func (checkCommand) Help() string {
	return `Examples:

  coordinator check-config
  coordinator check-config study.toml`
}

// Run checks a study file and the state directory. It changes nothing.
func (c *checkCommand) Run(e *environment) error {
	report := map[string]string{}
	if c.File != "" {
		document, err := readStudy(c.File)
		if err != nil {
			return err
		}
		st, err := study.Parse(c.File, document)
		if err != nil {
			return err
		}
		if err := coordinator.Playable(st); err != nil {
			return err
		}
		report["study"] = st.Name
	}
	report["state"] = "none yet"
	if store.Exists(e.state) {
		err := e.with(func(api admin.API) error {
			_, err := api.Status(e.ctx, "")
			return err
		})
		if err != nil {
			return err
		}
		report["state"] = e.state
		l, err := keyfile.List(e.state)
		if err != nil {
			return err
		}
		if report["keys"], err = l.Summary(e.unlock); err != nil {
			return fmt.Errorf("%w: run coordinator keys protect, or coordinator keys unprotect, again", err)
		}
	}
	if c.JSON {
		return cli.PrintJSON(report)
	}
	if c.File != "" {
		fmt.Printf("%s: study %s is valid\n", c.File, report["study"])
	}
	fmt.Printf("state directory: %s\n", report["state"])
	if keys, ok := report["keys"]; ok {
		fmt.Printf("keys: %s\n", keys)
	}
	return nil
}
