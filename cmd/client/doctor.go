package main

import (
	"context"
	"errors"
	"fmt"

	"fedpvi/client"
	"fedpvi/internal/cli"
	"fedpvi/internal/speed"
)

type doctorCommand struct {
	connection `embed:""`

	Data        string `help:"Records: ${table}." placeholder:"FILE"`
	recordFlags `embed:""`

	Offline bool `help:"Do not connect to the coordinator."`
	Pace    bool `help:"Measure how fast the processor and the GPUs of this machine take private steps." default:"true" negatable:""`
}

func (doctorCommand) Help() string {
	return `Examples:

  client doctor
  client doctor --data records.csv
  client doctor --offline --json

The computing time of the study is estimated with made-up records, even with --data.

Each line begins with PASS or FAIL. A FAIL is followed by its remedy.`
}

func (d *doctorCommand) Run(ctx context.Context, c *commands) error {
	findings, code := d.examine(ctx, c)
	if c.JSON {
		if err := cli.PrintJSON(map[string]any{"findings": findings}); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			word := "PASS"
			if !f.OK {
				word = "FAIL"
			}
			fmt.Printf("%s  %-16s %s\n", word, f.Check, f.Found)
			if !f.OK {
				fmt.Printf("      %-16s remedy: %s\n", "", f.Fix)
			}
		}
	}
	if client.Healthy(findings) {
		return nil
	}
	return &toldError{errors.Join(errors.New("at least one check failed"), code)}
}

// examine runs all checks and returns their findings. It fails if the state directory cannot be
// opened, or if the flags for the records are invalid.
func (d *doctorCommand) examine(ctx context.Context, c *commands) ([]client.Finding, error) {
	k, err := c.open()
	if err != nil {
		return []client.Finding{{Check: "state directory", Found: err.Error(), Fix: "follow the message; see docs/use/exit-codes.md"}}, err
	}
	defer k.Close()
	x := client.Examination{Study: c.Study, Program: version()}
	if d.Data != "" {
		if x.Data, err = d.source(c, d.Data); err != nil {
			return nil, err
		}
	}
	if !d.Offline {
		policy, _ := c.policy() // ignore an error in the policy, because another finding reports it
		network, err := d.network(policy)
		if err != nil {
			return nil, err
		}
		x.Connect = func(ctx context.Context, m *client.Member) (client.Link, func() error, error) {
			line, err := k.Dial(ctx, m, network)
			return line, line.Close, err
		}
	}
	findings := k.Examine(ctx, x)
	if d.Pace {
		r, err := speed.Examine()
		if err != nil {
			return append(findings, client.Finding{Check: "processor", Found: err.Error(), Fix: "report it"}), nil
		}
		for _, l := range r.Lines() {
			findings = append(findings, client.Finding{Check: l.Check, OK: l.Fix == "", Found: l.Found, Fix: l.Fix})
		}
	}
	return findings, nil
}
