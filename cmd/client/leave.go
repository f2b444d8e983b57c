package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fedpvi/client"
)

type leaveCommand struct {
	Reason   string        `help:"Reason for the coordinator, one line." default:"the data holder takes no part any more"`
	Deadline time.Duration `name:"round-deadline" help:"Time for a round. All timeouts are derived from it." default:"10m"`
}

func (leaveCommand) Help() string {
	return `Examples:

  client leave
  client leave --study blood-pressure --reason "our board withdrew its consent"

Leaving is final, and the coordinator is informed. The charges stay in the ledger.`
}

func (l *leaveCommand) Run(ctx context.Context, c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		line, err := k.Dial(ctx, m, client.Network{RoundDeadline: l.Deadline})
		if err != nil {
			return err
		}
		if err := errors.Join(k.Leave(ctx, m, l.Reason, line), line.Close()); err != nil {
			return err
		}
		fmt.Printf("Left %s.\n", m.Study.Name)
		return nil
	})
}
