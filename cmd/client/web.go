package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fedpvi/client"
	"fedpvi/client/pages"
	"fedpvi/internal/web"
	"fedpvi/pvi/words"
)

type webCommand struct {
	connection `embed:""`

	Address     string `arg:"" optional:"" help:"Address of this machine that serves the pages, host:port." default:"127.0.0.1:8440"`
	WebOrigin   string `help:"Origin at which browsers reach the pages through a proxy with TLS, as in https://fedpvi.example.org." placeholder:"URL"`
	Data        string `help:"Records that the pages examine, as client check does: ${table}." placeholder:"FILE"`
	recordFlags `embed:""`
	Person      string `help:"Column that identifies the person of each row, as in client check." placeholder:"COLUMN"`
}

func (webCommand) Help() string {
	return `Examples:

  client web
  client web --data records.csv
  client web 127.0.0.1:8440 --web-origin https://fedpvi.example.org

Open the login link that the command prints. The pages show the reviews, with forms to approve and
to refuse, the ledger as a picture, and the result of each study that is over. With --data they
examine the records. Show them only to the data holder: an examination depends on single records
and has no noise.

The command runs until it is interrupted. It does not run a study: client run --web does, and serves
the same pages with the progress of the study.`
}

func (w *webCommand) Run(ctx context.Context, c *commands) error {
	k, err := c.open()
	if err != nil {
		return err
	}
	defer k.Close()
	d := desk{connection: w.connection, recordFlags: w.recordFlags, data: w.Data, person: w.Person}
	_, stop, err := d.serve(ctx, c, k, w.Address, w.WebOrigin)
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	return nil
}

// A desk has the flags for the forms and the examinations on the pages.
type desk struct {
	connection
	recordFlags
	data, person string
}

func (d *desk) serve(ctx context.Context, c *commands, k *client.Client, address, origin string) (show *pages.Pages, stop func(), err error) {
	members, err := k.Members()
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(k.Store().Dir(), web.LinkFile)
	show, err = pages.Open(ctx, pages.Config{
		Client: k, Members: members, Policy: c.policy, Program: version(),
		Address: address, Origin: origin, LinkFile: file, Announce: func(link string) { c.announce(link, file) },
		Approve: func(m *client.Member, p *client.Policy, dataset, digest string) error {
			_, err := c.approve(k, m, p, dataset, func() (string, error) { return digest, nil })
			return err
		},
		Leave: func(ctx context.Context, m *client.Member, reason string) error {
			return c.leave(ctx, k, m, d.connection, reason)
		},
		Check: func(ctx context.Context, m *client.Member) (*words.Examined, error) {
			p, err := ifOver(k, m)
			if err != nil {
				return nil, err
			}
			return d.examined(ctx, c, d.data, d.person, m.Study, p)
		},
	})
	if err != nil {
		return nil, nil, &client.UsageError{Err: fmt.Errorf("the pages: %w", err)}
	}
	served := make(chan error, 1)
	go func() { served <- show.Serve() }()
	return show, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := show.Shutdown(ctx); err != nil {
			c.logger().Warn("the pages were not closed in time", "error", err)
		}
		if err := <-served; err != nil {
			c.logger().Warn("the pages failed", "error", err)
		}
	}, nil
}

// linger goes on serving the pages of a finished study until ctx is done.
func (c *commands) linger(ctx context.Context, show *pages.Pages) {
	show.End()
	const note = "the pages show the result until the command is interrupted"
	if c.chatty() {
		fmt.Fprintf(os.Stderr, "\n%s.\n", strings.ToUpper(note[:1])+note[1:])
	} else {
		c.logger().Info(note)
	}
	<-ctx.Done()
}

// announce prints the login link if standard error is a terminal. A log can be sent to other
// machines, so there it mentions only the file that has the link.
func (c *commands) announce(link, file string) {
	if c.chatty() {
		fmt.Fprintf(os.Stderr, "Pages, with a login link that is valid once: %s\n", link)
		return
	}
	c.logger().Info("serving pages", slog.String("login", file))
}
