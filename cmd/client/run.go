package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/client/pages"
	"fedpvi/crypto/invitation"
	"fedpvi/gpu/device"
	"fedpvi/internal/audit"
	"fedpvi/internal/cli"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/words"
)

type runCommand struct {
	connection `embed:""`

	Data        string `help:"Records: ${table}." required:"" placeholder:"FILE"`
	recordFlags `embed:""`

	Join        letter `help:"Redeem this invitation first, as client join does, unless it was redeemed before." placeholder:"FILE"`
	firstPolicy `embed:""`

	Approve   bool          `help:"At a terminal: show the review and ask for approval, if the study is not approved yet."`
	Dataset   string        `help:"With --approve: data set in the policy that the study is charged to." placeholder:"NAME"`
	Result    string        `help:"File to write the posterior to (JSON). It must not exist." placeholder:"FILE"`
	Web       string        `help:"Serve pages at this address of this machine: the review, the ledger, the progress and the result, in a browser. With --approve the run waits for the approval on the page. When the study is over, the pages show its result until the command is interrupted. The first login link is printed at a terminal, and the file login.url in the state directory has the next one." placeholder:"ADDR"`
	WebOrigin string        `help:"With --web: origin at which browsers reach the pages through a proxy with TLS, as in https://fedpvi.example.org." placeholder:"URL"`
	Metrics   string        `help:"Serve Prometheus metrics and /healthz at this address, such as 127.0.0.1:9464." placeholder:"ADDR"`
	Patience  time.Duration `help:"How long to try to reach the coordinator." default:"24h"`
	Poll      time.Duration `help:"Ask for news at this interval instead of staying connected."`
	Gossip    string        `help:"Gossip with the other daemons at this IP address and port of this machine, UDP and TCP. Default: no gossip, and no open port." placeholder:"IP:PORT"`
	Device    device.Choice `help:"Where to compute private gradient steps: auto (a suitable GPU, or else the processor), cpu, or cuda:N (only this GPU)." default:"auto" placeholder:"DEVICE"`
}

func (runCommand) Help() string {
	return `Examples:

  client run --data records.csv
  client run --data records.csv --approve           read the review, then type yes
  client run --join invitation.txt --data records.csv --approve
  client run --data records.csv --metrics 127.0.0.1:9464 --log json
  client run --data records.csv --approve --web 127.0.0.1:8440
  client run --data records.csv --audit /var/log/fedpvi/audit.log --audit syslog:///dev/log
  client run --data export.csv.gz --separator ';' --decimal-comma
  client run --data postgres://reader@localhost/cohort --query cohort.sql

The password of a database is read from PGPASSWORD, or from the file that PGPASSFILE names. End
the query with ORDER BY: a study continues only with the same records in the same order.

A run that was stopped continues where it was: it sends the same bytes again and pays for
nothing twice. Use the same file of records until the study is over.`
}

func (r *runCommand) Run(ctx context.Context, c *commands) error {
	if _, err := os.Lstat(r.Result); r.Result != "" && err == nil { // before the run, so that it does not end with a result that cannot be written
		return &client.UsageError{Err: fmt.Errorf("--result: the file %s exists: choose another name, or move it away", r.Result)}
	}
	with := c.with
	if r.Join != "" {
		with = func(f func(*client.Client, *client.Member) error) error { return r.joined(ctx, c, f) }
	} else if r.Epsilon != nil || r.Delta != nil {
		return &client.UsageError{Err: fmt.Errorf("--epsilon and --delta need --join, which writes the first policy: edit %s instead", client.PolicyFile)}
	}
	return with(func(k *client.Client, m *client.Member) error {
		show, stop, err := r.serve(ctx, c, k)
		if err != nil {
			return err
		}
		defer stop()
		policy, err := r.policy(ctx, c, k, m, show)
		if err != nil {
			return err
		}
		ending, err := r.play(ctx, c, k, m, policy, show)
		if err != nil {
			return err
		}
		if err := r.ended(c, m, ending); err != nil || show == nil {
			return err
		}
		c.linger(ctx, show)
		return nil
	})
}

// serve serves the pages of --web until stop is called. Without --web it returns no pages.
func (r *runCommand) serve(ctx context.Context, c *commands, k *client.Client) (show *pages.Pages, stop func(), err error) {
	if r.Web == "" && r.WebOrigin != "" {
		return nil, nil, &client.UsageError{Err: errors.New("--web-origin needs --web: give both")}
	}
	if r.Web == "" {
		return nil, func() {}, nil
	}
	d := desk{connection: r.connection, recordFlags: r.recordFlags, data: r.Data}
	return d.serve(ctx, c, k, r.Web, r.WebOrigin)
}

// policy returns the policy of the run. With --approve, the data holder first approves the study,
// on the pages or at the terminal.
func (r *runCommand) policy(ctx context.Context, c *commands, k *client.Client, m *client.Member, show *pages.Pages) (*client.Policy, error) {
	if r.Approve && show != nil {
		return show.Decision(ctx, m)
	}
	policy, err := c.policy()
	if err != nil {
		return nil, err
	}
	if _, approved := k.Terms(m, policy); r.Approve && !approved {
		_, err = c.approve(k, m, policy, r.Dataset, func() (string, error) { return c.ask(k, m, policy, r.Dataset) })
	}
	return policy, err
}

// joined calls f after joining the study of the invitation, if this client has not joined it yet.
func (r *runCommand) joined(ctx context.Context, c *commands, f func(*client.Client, *client.Member) error) error {
	if c.Study != "" {
		return &client.UsageError{Err: errors.New("--join names the study: leave out --study")}
	}
	return c.invited(r.Join, r.firstPolicy, func(k *client.Client, i invitation.Invitation, promise accountant.Target) error {
		all, err := k.Members()
		if err != nil {
			return err
		}
		if n := slices.IndexFunc(all, func(m *client.Member) bool { return m.Hash == i.Study }); n >= 0 {
			return f(k, all[n])
		}
		m, wrote, err := c.join(ctx, k, i, r.connection, promise)
		if err != nil {
			return err
		}
		if wrote {
			fmt.Fprintln(os.Stderr, wrotePolicy(k, promise))
		}
		return f(k, m)
	})
}

func (r *runCommand) reading(read shard.Report) {
	if read.Records == 0 {
		fmt.Fprintf(os.Stderr, "%s has no records of this study: this client sends only noise.\n", r.Data)
	}
	_ = words.Reading(os.Stderr, read) // if printing fails, printing an error would fail too
}

func (r *runCommand) play(ctx context.Context, c *commands, k *client.Client, m *client.Member, policy *client.Policy, web *pages.Pages) (_ *client.Ending, err error) {
	figures := newFigures()
	if r.Metrics != "" {
		stop, err := figures.serve(r.Metrics)
		if err != nil {
			return nil, &client.UsageError{Err: fmt.Errorf("--metrics: %w", err)}
		}
		defer stop()
	}
	network, err := r.network(policy)
	if err != nil {
		return nil, err
	}
	network.Poll, network.Observer = r.Poll, figures
	data, err := r.source(c, r.Data)
	if err != nil {
		return nil, err
	}
	reading, line := func(shard.Report) {}, (*cli.Line)(nil)
	if c.chatty() {
		reading, line = r.reading, cli.NewLine(os.Stderr)
	}
	show := newDisplay(line)
	defer show.done()
	if web != nil {
		web.Begin()
	}
	configured := sync.OnceFunc(func() { r.auditConfiguration(c, k, m, policy) })
	defer func() {
		configured()
		c.audited.Write(audit.Stop, slog.LevelInfo, append(ofStudy(m), slog.Int("code", client.CodeOf(err)))...)
	}()
	return k.Run(ctx, client.Run{
		Member: m, Policy: policy, Data: data, Reading: reading, Patience: r.Patience, Wait: wait, Gossip: r.Gossip, Device: r.Device,
		Connect: func(ctx context.Context) (client.Link, io.Closer, error) {
			configured()
			line, err := k.Dial(ctx, m, network)
			return line, line, err
		},
		Show: func(s client.Status) {
			figures.status(s)
			show.status(s)
			if web != nil {
				web.Show(s)
			}
		},
	})
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *runCommand) ended(c *commands, m *client.Member, e *client.Ending) error {
	if e.Aborted {
		return fmt.Errorf("the study was aborted by %s: %s", e.By, e.Reason)
	}
	p, err := e.Posterior(m.Study)
	if err != nil {
		return err
	}
	text, err := json.Marshal(described{p.Result, p.Marginals, p.Estimates, p.Quantities, p.Prior, p.Units})
	if err != nil {
		return err
	}
	if r.Result != "" {
		f, err := os.OpenFile(r.Result, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return &client.UsageError{Err: err}
		}
		_, err = f.Write(append(text, '\n'))
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	if c.JSON {
		_, err := os.Stdout.Write(append(text, '\n'))
		return err
	}
	what := "posterior"
	if m.Study.Model.Absent() {
		what = "tables"
	}
	fmt.Printf("%s is over. The %s:\n\n", m.Study.Title, what)
	return p.Table(os.Stdout, false)
}

// described is a study's result in the JSON that the command writes, with the marginal distribution
// of each parameter.
type described struct {
	*session.Result
	Marginals  []session.Marginal `json:"marginals,omitempty"`
	Estimates  []fit.Estimate     `json:"estimates,omitempty"`
	Quantities []fit.Quantity     `json:"quantities,omitempty"`
	Prior      []fit.AgainstPrior `json:"against_prior,omitempty"`
	Units      fit.Units          `json:"natural_map"`
}

type statusCommand struct{}

func (statusCommand) Help() string {
	return `Examples:

  client status
  client status --json`
}

func (statusCommand) Run(c *commands) error {
	k, err := c.open()
	if err != nil {
		return err
	}
	defer k.Close()
	members, err := k.Members()
	if err != nil {
		return err
	}
	type row struct {
		Study  string `json:"study"`
		Digest string `json:"digest"`
		Name   string `json:"as"`
		Stands string `json:"stands"`
	}
	rows, all := [][]string{{"study", "digest", "as", "stands"}}, []row{}
	policy, err := c.policy()
	if err != nil && client.CodeOf(err) != client.Declined {
		return err
	}
	for _, m := range members {
		stands, err := k.Standing(m, policy)
		if err != nil {
			return err
		}
		stands += map[string]string{client.Approved: ": client run", client.Undecided: ": client review"}[stands]
		all = append(all, row{m.Study.Name, m.Hash.String(), string(m.Name), stands})
		rows = append(rows, []string{m.Study.Name, m.Hash.String()[:12], string(m.Name), stands})
	}
	if c.JSON {
		return cli.PrintJSON(map[string]any{"studies": all})
	}
	return words.Table(os.Stdout, "", 4, rows)
}
