package main

import (
	"context"
	"errors"
	"fmt"

	"fedpvi/client"
)

type leaveCommand struct {
	connection `embed:""`

	Reason string `help:"Reason for the coordinator, one line." default:"the data holder takes no part any more"`
}

func (leaveCommand) Help() string {
	return `Examples:

  client leave
  client leave --study blood-pressure --reason "our board withdrew its consent"

Leaving is final, and the coordinator is informed. The charges stay in the ledger.`
}

func (l *leaveCommand) Run(ctx context.Context, c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		policy, err := c.policy()
		if err != nil {
			return err
		}
		network, err := l.network(policy)
		if err != nil {
			return err
		}
		line, err := k.Dial(ctx, m, network)
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
