package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"fedpvi/client"
)

type leaveCommand struct {
	connection `embed:""`

	Reason string `help:"Reason for the coordinator, one line." default:"the data holder no longer takes part"`
}

func (leaveCommand) Help() string {
	return `Examples:

  client leave
  client leave --study blood-pressure --reason "our board withdrew its consent"

Leaving is final, and the coordinator is informed. The charges stay in the ledger.`
}

func (l *leaveCommand) Run(ctx context.Context, c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		if err := c.leave(ctx, k, m, l.connection, l.Reason); err != nil {
			return err
		}
		fmt.Printf("Left %s.\n", m.Study.Name)
		return nil
	})
}

// leave leaves a study. It writes the order, and any failure of it, to the audit log.
func (c *commands) leave(ctx context.Context, k *client.Client, m *client.Member, connect connection, reason string) error {
	policy, err := c.policy()
	if err != nil {
		return err
	}
	network, err := connect.network(policy)
	if err != nil {
		return err
	}
	end := c.order("leave", append(ofStudy(m), slog.String("reason", reason))...)
	line, err := k.Dial(ctx, m, network)
	if err == nil {
		err = errors.Join(k.Leave(ctx, m, reason, line), line.Close())
	}
	return end(err)
}
