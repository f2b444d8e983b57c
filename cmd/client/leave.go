package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fedpvi/client"
)

type leaveCommand struct {
	Reason   string        `help:"One line for the coordinator." default:"the data holder takes no part any more"`
	Deadline time.Duration `name:"round-deadline" help:"Time for a round, from which all waiting times are derived." default:"10m"`
}

func (leaveCommand) Help() string {
	return `Leaving is for good, and is told to the coordinator. What was spent stays in the ledger.`
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
