package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"fedpvi/client"
	"fedpvi/internal/cli"
)

type transcriptCommand struct {
	Head   transcriptHead   `cmd:"" help:"Print the hash of the last entry. Clients with the same hash have seen the same history."`
	Export transcriptExport `cmd:"" help:"Write the signed entries to a file, for coordinator verify."`
}

type transcriptHead struct{}

func (transcriptHead) Help() string {
	return `Examples:

  client transcript head
  client transcript head --json | jq -r .head

Compare it with the other data holders over another channel, not through the coordinator.`
}

func (transcriptHead) Run(c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		h, err := k.Head(m)
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(h)
		}
		fmt.Printf("%s: %d entries, head %s\n", h.Study, h.Entry, h.Head)
		return nil
	})
}

type transcriptExport struct {
	Out string `help:"File to write. It must not exist." required:"" placeholder:"FILE"`
}

func (transcriptExport) Help() string {
	return `Examples:

  client transcript export --out north.transcript

The file has the coordinator's signatures and no numbers of the study. Anybody who has the exports
of several clients can check that all have seen the same history: coordinator verify BUNDLE
EXPORT...`
}

func (e *transcriptExport) Run(c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		x, err := k.Export(m)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(e.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return &client.UsageError{Err: err}
		}
		if err := errors.Join(json.NewEncoder(f).Encode(x), f.Sync(), f.Close()); err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(map[string]any{"file": e.Out, "entries": len(x.Envelopes)})
		}
		fmt.Printf("%s: %d entries of %s.\n", e.Out, len(x.Envelopes), m.Study.Name)
		return nil
	})
}

type verifyCommand struct {
	File string `arg:"" name:"bundle" help:"Bundle of the coordinator." type:"existingfile"`
}

func (verifyCommand) Help() string {
	return `Examples:

  client verify blood-pressure.bundle

The command checks the bundle as coordinator verify does, and compares its history with the one that
this client has followed. If they differ, it names the round and exits with 3: the coordinator has
signed two histories.`
}

func (v *verifyCommand) Run(c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		common, err := k.VerifyBundle(m, func() (io.ReadCloser, error) { return os.Open(v.File) })
		if err != nil {
			return fmt.Errorf("%s: %w", v.File, err)
		}
		if c.JSON {
			return cli.PrintJSON(map[string]any{"bundle": v.File, "entries_compared": common})
		}
		fmt.Printf("%s: valid, and the same history as here: %d entries compared.\n", v.File, common)
		return nil
	})
}
