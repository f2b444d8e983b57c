package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"fedpvi/client"
	"fedpvi/internal/cli"
)

type reviewCommand struct {
	Dataset  string `help:"Data set in the policy that the study would be charged to." placeholder:"NAME"`
	Document bool   `help:"Print the study document itself, byte for byte."`
}

func (reviewCommand) Help() string {
	return `Examples:

  client review
  client review --json | jq .privacy
  client review --document > study.toml

The command reads no records and sends nothing. It estimates the hours of computing on this
machine with made-up records. The key compute.max_hours in policy.toml limits them.`
}

func (r *reviewCommand) Run(c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		if r.Document {
			_, err := os.Stdout.Write(m.Study.Source)
			return err
		}
		policy, err := c.policy()
		if err != nil && client.CodeOf(err) != client.Declined {
			return err
		}
		review, err := k.Review(m, policy, r.Dataset)
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(review)
		}
		review.Command = c.program()
		return cli.Print(os.Stdout, review.Text)
	})
}

type approveCommand struct {
	Yes     string `help:"Digest of the study, at least its first 12 digits, as client review prints it." placeholder:"DIGEST"`
	Dataset string `help:"Data set in the policy that the study is charged to." placeholder:"NAME"`
}

func (approveCommand) Help() string {
	return `Examples:

  client approve                      show the review and ask
  client approve --yes 5ff10c4a9b3e   if you have read the review

An approval holds for the exact bytes of the study and of the policy: if one of them changes,
you approve again. Approving sends nothing; client run does.`
}

func (a *approveCommand) Run(_ context.Context, c *commands) error {
	return c.with(func(k *client.Client, m *client.Member) error {
		policy, err := c.policy()
		if err != nil {
			return err
		}
		terms, err := c.approve(k, m, policy, a.Dataset, func() (string, error) {
			if a.Yes != "" {
				return a.Yes, nil
			}
			return c.ask(k, m, policy, a.Dataset)
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(map[string]any{"study": m.Study.Name, "digest": m.Hash, "terms": terms})
		}
		fmt.Printf("Approved: %s, charged to the data set %s. Next: %s\n", m.Study.Name, terms.Dataset, c.next("run --data records.csv"))
		return nil
	})
}

// ask shows a review on the terminal and asks the data holder for consent. It returns the digest of
// the study.
func (c *commands) ask(k *client.Client, m *client.Member, policy *client.Policy, dataset string) (digest string, err error) {
	if !cli.Terminal(os.Stdin) {
		return "", &client.UsageError{Err: errors.New("standard input is not a terminal: run client approve --yes DIGEST, with the digest that client review prints")}
	}
	review, err := k.Review(m, policy, dataset)
	if err != nil {
		return "", err
	}
	review.Command = c.program()
	if err := cli.Print(os.Stderr, review.Text); err != nil {
		return "", err
	}
	if len(review.Problems) > 0 {
		return "", &client.Refusal{Reason: "the study cannot be approved: " + strings.Join(review.Problems, "; ")}
	}
	fmt.Fprint(os.Stderr, "\nApprove? Type yes: ")
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return "", &client.Refusal{Reason: "the study was not approved"}
	}
	return m.Hash.String(), nil
}
