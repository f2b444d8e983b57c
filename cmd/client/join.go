package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/crypto/invitation"
	"fedpvi/internal/cli"
)

type joinCommand struct {
	connection `embed:""`

	Invitation string  `arg:"" help:"File with the invitation, or - for standard input. The text of the invitation also works, but other users of this machine can see it."`
	Epsilon    float64 `help:"Cap on ε for all studies together. Written into the policy if there is none yet." default:"1"`
	Delta      float64 `help:"The δ of the cap." default:"1e-5"`
}

func (joinCommand) Help() string {
	return `Examples:

  client join invitation.txt
  client join - < invitation.txt
  client join invitation.txt --epsilon 4 --delta 1e-5

The keys are made on this machine and never leave it. Joining allows nothing yet: run client
review next.`
}

// read returns the invitation. The argument is the text of the invitation, the name of a file, or
// "-" for standard input.
func (j *joinCommand) read() (i invitation.Invitation, err error) {
	text := []byte(j.Invitation)
	switch {
	case j.Invitation == "-":
		text, err = io.ReadAll(io.LimitReader(os.Stdin, 2*invitation.MaxText))
	case !strings.HasPrefix(j.Invitation, invitation.Prefix):
		text, err = os.ReadFile(j.Invitation)
	default:
		fmt.Fprintln(os.Stderr, "client: other users of this machine can see an invitation on the command line: use a file of your own next time")
	}
	if err != nil {
		return i, &client.UsageError{Err: fmt.Errorf("invitation: %w", err)}
	}
	if i, err = invitation.Parse(strings.TrimSpace(string(text))); err != nil {
		return i, &client.UsageError{Err: err}
	}
	return i, nil
}

func (j *joinCommand) Run(ctx context.Context, c *commands) error {
	promise := accountant.Target{Epsilon: j.Epsilon, Delta: j.Delta}
	if err := promise.Check(); err != nil {
		return &client.UsageError{Err: err}
	}
	i, err := j.read()
	if err != nil {
		return err
	}
	k, err := c.openOr(true)
	if err != nil {
		return err
	}
	defer k.Close()
	policy, err := c.policy()
	if err != nil && client.CodeOf(err) != client.Declined {
		return err
	}
	network, err := j.network(policy)
	if err != nil {
		return err
	}
	end := c.order("join", slog.String("digest", fmt.Sprintf("%x", i.Study)), slog.String("client", string(i.Name)), slog.String("coordinator", i.Coordinator.String()))
	guest, err := k.DialGuest(ctx, i, network)
	if err != nil {
		return end(err)
	}
	m, wrote, err := k.Join(ctx, i, guest, promise)
	if err = errors.Join(err, guest.Close()); end(err) != nil {
		return err
	}
	fingerprint, err := k.Fingerprint()
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(map[string]any{
			"study": m.Study.Name, "digest": m.Hash, "client": m.Name, "coordinator": m.Coordinator,
			"fingerprint": fingerprint, "state": k.Store().Dir(), "wrote_policy": wrote,
		})
	}
	fmt.Printf("Joined %q as %s.\n\n  study        sha256 %s\n  coordinator  %s\n  this client  %s\n  state        %s\n\n",
		m.Study.Title, m.Name, m.Hash, m.Coordinator, fingerprint, k.Store().Dir())
	if wrote {
		fmt.Printf("A policy was written: %s/%s. It allows ε = %g at δ = %g in total. Read it.\n", k.Store().Dir(), client.PolicyFile, j.Epsilon, j.Delta)
	}
	fmt.Printf("Nothing runs yet. Next: %s\n", c.next("review"))
	return nil
}
