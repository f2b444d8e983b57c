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

	Invitation  letter `arg:"" help:"File with the invitation, or - for standard input. The text of the invitation also works, but other users of this machine can see it."`
	firstPolicy `embed:""`
}

// firstPolicy has the flags for the policy that a client writes when it joins.
type firstPolicy struct {
	Epsilon *float64 `help:"Cap on ε for all studies together. Joining writes it into the policy if there is none yet. Default: 1." placeholder:"ε"`
	Delta   *float64 `help:"The δ of the cap. Default: 1e-5." placeholder:"δ"`
}

func (f firstPolicy) promise() (accountant.Target, error) {
	t := accountant.Target{Epsilon: 1, Delta: 1e-5}
	if f.Epsilon != nil {
		t.Epsilon = *f.Epsilon
	}
	if f.Delta != nil {
		t.Delta = *f.Delta
	}
	if err := t.Check(); err != nil {
		return t, &client.UsageError{Err: err}
	}
	return t, nil
}

func (joinCommand) Help() string {
	return `Examples:

  client join invitation.txt
  client join - < invitation.txt
  client join invitation.txt --epsilon 4 --delta 1e-5

The keys are made on this machine and never leave it. Joining allows nothing yet: run client
review next.`
}

// A letter is an invitation as given on the command line: a file name, "-" for standard input, or
// the text itself.
type letter string

func (l letter) read() (i invitation.Invitation, err error) {
	text := []byte(l)
	switch {
	case l == "-":
		text, err = io.ReadAll(io.LimitReader(os.Stdin, 2*invitation.MaxText))
	case !strings.HasPrefix(string(l), invitation.Prefix):
		text, err = os.ReadFile(string(l))
	default:
		fmt.Fprintln(os.Stderr, "client: other users of this machine can see an invitation on the command line: next time, put it into a file that only you can read")
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
	return c.invited(j.Invitation, j.firstPolicy, func(k *client.Client, i invitation.Invitation, promise accountant.Target) error {
		return j.join(ctx, c, k, i, promise)
	})
}

// invited reads an invitation, opens the state directory and calls f. If there is no state
// directory, invited creates it.
func (c *commands) invited(l letter, first firstPolicy, f func(*client.Client, invitation.Invitation, accountant.Target) error) error {
	promise, err := first.promise()
	if err != nil {
		return err
	}
	i, err := l.read()
	if err != nil {
		return err
	}
	k, err := c.openWith(true, c.unlock())
	if err != nil {
		return err
	}
	defer k.Close()
	return f(k, i, promise)
}

func (j *joinCommand) join(ctx context.Context, c *commands, k *client.Client, i invitation.Invitation, promise accountant.Target) error {
	m, wrote, err := c.join(ctx, k, i, j.connection, promise)
	if err != nil {
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
		fmt.Println(wrotePolicy(k, promise))
	}
	fmt.Printf("Nothing runs yet. Next: %s\n", c.next("review"))
	return nil
}

func wrotePolicy(k *client.Client, promise accountant.Target) string {
	return fmt.Sprintf("A policy was written: %s/%s. It allows ε = %g at δ = %g in total. Read it.", k.Store().Dir(), client.PolicyFile, promise.Epsilon, promise.Delta)
}

// join redeems an invitation. It returns the study, and reports whether it has written a policy.
func (c *commands) join(ctx context.Context, k *client.Client, i invitation.Invitation, connect connection, promise accountant.Target) (*client.Member, bool, error) {
	policy, err := c.policy()
	if err != nil && client.CodeOf(err) != client.Declined {
		return nil, false, err
	}
	network, err := connect.network(policy)
	if err != nil {
		return nil, false, err
	}
	end := c.order("join", slog.String("digest", fmt.Sprintf("%x", i.Study)), slog.String("client", string(i.Name)), slog.String("coordinator", i.Coordinator.String()))
	guest, err := k.DialGuest(ctx, i, network)
	if err != nil {
		return nil, false, end(err)
	}
	m, wrote, err := k.Join(ctx, i, guest, promise)
	if err = errors.Join(err, guest.Close()); end(err) != nil {
		return nil, false, err
	}
	return m, wrote, nil
}
