package main

import (
	"context"
	"fmt"
	"os"

	"fedpvi/client"
	"fedpvi/internal/cli"
	"fedpvi/pvi/words"
)

type rosterCommand struct{}

func (rosterCommand) Help() string {
	return `Examples:

  client roster
  client roster --json | jq -r '.parties[] | select(.state == "not recognised") | .name'

Ask the people of each client for its fingerprint over another channel, not through the coordinator,
and compare. Then write it into the policy: participants.recognised, or participants.known if no
other client may take part. The other clients are known only after the study has begun.`
}

func (rosterCommand) Run(c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		policy, err := c.policy()
		if err != nil && client.CodeOf(err) != client.Declined {
			return err
		}
		r, err := k.Roster(m, policy)
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(r)
		}
		if r.Version == 0 {
			fmt.Printf("%s has not begun here: the other clients are not known yet.\n\n", r.Study)
		} else {
			fmt.Printf("%s, version %d of the roster\n\n", r.Study, r.Version)
		}
		rows := [][]string{{"name", "role", "state", "fingerprint"}}
		for _, p := range r.Parties {
			rows = append(rows, []string{string(p.Name), p.Role, p.State, p.Fingerprint.String()})
		}
		if err := words.Table(os.Stdout, "  ", 4, rows); err != nil {
			return err
		}
		for _, p := range r.Parties {
			if p.First != nil {
				fmt.Printf("\n%s has a new identity, signed with its previous one. When the study began, its identity was %s.\n", p.Name, p.First)
			}
		}
		if r.NewKeys != "" {
			fmt.Printf("\nNew keys of this client: %s.\n", r.NewKeys)
		}
		return nil
	})
}

type rotateCommand struct {
	connection `embed:""`
}

func (rotateCommand) Help() string {
	return `Examples:

  client rotate
  client rotate --study blood-pressure --json

The client makes a new identity, a new key for connections and a new key for encrypted messages in
one study, and signs them with its previous identity. Use the command if a key may be stolen, or
from time to time. In a study that has begun, the new keys are valid from the end of the open
rounds: run client run as before. The old keys are then destroyed, except for the first identity,
which signs the ledger. If the command is interrupted, run it again: it continues with the same
keys.

If somebody else may already have made keys with a stolen identity, ask the coordinator's people to
revoke your keys (coordinator revoke).`
}

func (r *rotateCommand) Run(ctx context.Context, c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		policy, err := c.policy()
		if err != nil {
			return err
		}
		network, err := r.network(policy)
		if err != nil {
			return err
		}
		end := c.order("rotate", ofStudy(m)...)
		err = k.Rotate(ctx, m, func(ctx context.Context) (client.Renewer, func() error, error) {
			line, err := k.Dial(ctx, m, network)
			return line, line.Close, err
		})
		if end(err) != nil {
			return err
		}
		fingerprint, err := k.Fingerprint()
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(map[string]any{"study": m.Study.Name, "client": m.Name, "fingerprint": fingerprint})
		}
		fmt.Printf("%s has new keys in %s. The coordinator has accepted them.\n\n  fingerprint  %s\n\nNext: %s\n", m.Name, m.Study.Name, fingerprint, c.next("run"))
		return nil
	})
}
