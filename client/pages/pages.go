// Package pages shows a data holder the studies of a client in a browser. Each study has a page
// with the review, forms to approve or refuse the study, the progress of the run, and the result.
// Other pages show the examination of the records, the report on a study, and the ledger. The
// examination depends on single records and has no noise, so only the data holder may see the
// pages. The forms do the same as the commands client approve and client leave.
package pages

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"sync"
	"time"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/internal/cli"
	"fedpvi/internal/web"
	"fedpvi/pvi/page"
	"fedpvi/pvi/words"
)

// Config configures [Open]. Approve, Leave and Check do the same as the commands of these names.
// Approve and Leave also write to the audit log.
type Config struct {
	Client *client.Client
	// Members are the studies that the client has joined. Runs change their Member values, so a
	// run must not use those in this list.
	Members []*client.Member
	Policy  func() (*client.Policy, error)
	Approve func(m *client.Member, p *client.Policy, dataset, digest string) error
	Leave   func(ctx context.Context, m *client.Member, reason string) error
	Check   func(ctx context.Context, m *client.Member) (*words.Examined, error)
	Program string // name and version of the program

	Address  string // address (host:port) on this machine
	Origin   string // origin of a proxy in front of the pages, as in [web.Options]
	LinkFile string
	Announce func(link string)
}

// Pages are a client's pages. The methods may be called concurrently.
type Pages struct {
	*web.Site
	c Config

	// busy is locked while the server processes a form, examines records, or makes a review or
	// report. Nothing must slow a run, so it begins only once busy is unlocked.
	busy    sync.Mutex
	reviews map[string]*client.Review // reviews made so far, keyed by the state from which they were made
	reports map[ledger.Hash]*page.Report

	mu      sync.Mutex
	running bool
	status  client.Status
	awaited ledger.Hash   // study that a run is waiting for the data holder to decide on; zero if none
	changed chan struct{} // closed when the next form has been processed
}

//go:embed study.html ledger.html
var sources embed.FS

var templates = template.Must(template.New("pages").Funcs(template.FuncMap{
	"number": words.Number,
	"coin":   func() string { return words.Coin },
	"clock":  func(t time.Time) string { return t.Format("2 Jan 15:04:05") },
	"day":    func(t time.Time) string { return t.Format(time.DateOnly) },
}).ParseFS(sources, "*.html"))

// Open listens on the address in c. The caller must then call Serve.
func Open(ctx context.Context, c Config) (*Pages, error) {
	p := &Pages{c: c, reviews: map[string]*client.Review{}, reports: map[ledger.Hash]*page.Report{}, changed: make(chan struct{})}
	site, err := web.Open(ctx, web.Options{
		Address: c.Address, Origin: c.Origin, Title: "fedpvi client",
		Links: []web.Link{{Path: "/", Text: "Studies"}, {Path: "/ledger", Text: "Ledger"}},
		Pages: templates, Style: page.Style, LinkFile: c.LinkFile, Announce: c.Announce, State: p.state,
	})
	if err != nil {
		return nil, err
	}
	p.Site = site
	site.Get("/{$}", p.index)
	site.Get("/ledger", p.ledger)
	site.Get("/studies/{study}", p.review)
	site.Get("/studies/{study}/document", p.document)
	site.Get("/studies/{study}/check", p.check)
	site.Get("/studies/{study}/report", p.report)
	site.Post("/studies/{study}/approve", p.approve)
	site.Post("/studies/{study}/refuse", p.refuse)
	return p, nil
}

// Show shows the progress of a run on the pages.
func (p *Pages) Show(s client.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = s
}

// End tells the pages that the run has ended, so that they accept forms and examinations again.
func (p *Pages) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = false
}

// Begin must be called before a run begins. It waits until no form or examination is in progress.
// From then on, the pages refuse them.
func (p *Pages) Begin() {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = true
}

// Decision waits until the data holder has approved a study, and then returns the policy that was
// approved. If the study is over, it returns at once. If the data holder refuses, it returns a
// [client.Refusal].
func (p *Pages) Decision(ctx context.Context, m *client.Member) (*client.Policy, error) {
	for {
		p.mu.Lock()
		p.awaited = m.Hash
		changed := p.changed
		p.mu.Unlock()
		policy, err := p.c.Policy()
		if err != nil {
			return nil, err
		}
		switch stands, err := p.c.Client.Standing(m, policy); {
		case err != nil:
			return nil, err
		case stands == client.Left:
			return nil, &client.Refusal{Reason: "the data holder has refused the study " + m.Study.Name}
		case stands != client.Undecided:
			return policy, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// exclusively calls f. If a run has begun, it returns an error instead.
func (p *Pages) exclusively(f func() error) error {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.mu.Lock()
	running := p.running
	p.mu.Unlock()
	if running {
		return &web.Error{Status: http.StatusConflict, Err: errors.New("a study is running in this program, and its answers must not be disturbed: stop the run first, then use client web")}
	}
	return f()
}

// one returns the study that a request's path identifies.
func (p *Pages) one(r *http.Request) (*client.Member, error) {
	n := slices.IndexFunc(p.c.Members, func(m *client.Member) bool { return m.Hash.String() == r.PathValue("study") })
	if n < 0 {
		return nil, web.Missing("this client has not joined the study: run client join INVITATION")
	}
	return p.c.Members[n], nil
}

// policy returns the policy, or nil if there is none. In that case, a review says that no study is
// allowed.
func (p *Pages) policy() (*client.Policy, error) {
	policy, err := p.c.Policy()
	if err != nil && client.CodeOf(err) != client.Declined {
		return nil, err
	}
	return policy, nil
}

// A row is one study on the first page.
type row struct {
	*client.Member
	Stands   string
	Progress *client.Status // nil unless the study is running in this program
}

func (p *Pages) rows() ([]row, error) {
	policy, err := p.policy()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	running, status := p.running, p.status
	p.mu.Unlock()
	all := []row{}
	for _, m := range p.c.Members {
		stands, err := p.c.Client.Standing(m, policy)
		if err != nil {
			return nil, err
		}
		next := row{Member: m, Stands: stands}
		if running && status.Study == m.Study.Name {
			next.Progress = &status
		}
		all = append(all, next)
	}
	return all, nil
}

// state returns a string that changes whenever a page has new content, so that browsers know when
// to reload it.
func (p *Pages) state(context.Context) (string, error) {
	rows, err := p.rows()
	if err != nil {
		return "", err
	}
	sequence, _ := p.c.Client.Store().Head()
	text := fmt.Sprint(sequence)
	for _, r := range rows {
		progress, err := json.Marshal(r.Progress)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("\n%s %s %s", r.Hash, r.Stands, progress)
	}
	return text, nil
}

func (p *Pages) index(*http.Request) (*web.Page, error) {
	rows, err := p.rows()
	if err != nil {
		return nil, err
	}
	return &web.Page{Title: "Studies", Name: "index", Of: rows}, nil
}

// document shows the study document, byte for byte.
func (p *Pages) document(r *http.Request) (*web.Page, error) {
	m, err := p.one(r)
	if err != nil {
		return nil, err
	}
	return &web.Page{Title: "Document of " + m.Study.Name, Name: "document", Of: m}, nil
}

// report shows the report on a study that is over, like the command client report does.
func (p *Pages) report(r *http.Request) (*web.Page, error) {
	m, err := p.one(r)
	if err != nil {
		return nil, err
	}
	report, err := p.reportOn(m)
	if errors.Is(err, client.ErrNoResult) {
		return nil, &web.Error{Status: http.StatusConflict, Err: err}
	}
	if err != nil {
		return nil, err
	}
	body, err := report.Body()
	return &web.Page{Title: "Report on " + m.Study.Name, Name: "body", Of: body}, err
}

// result returns the part of the report that has the study's result, or "" if there is no result.
func (p *Pages) result(m *client.Member) (template.HTML, error) {
	report, err := p.reportOn(m)
	if errors.Is(err, client.ErrNoResult) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return report.Result()
}

// reportOn returns the report on a study. It never changes, so it is made only once.
func (p *Pages) reportOn(m *client.Member) (*page.Report, error) {
	p.busy.Lock()
	defer p.busy.Unlock()
	if known := p.reports[m.Hash]; known != nil {
		return known, nil
	}
	report, err := p.c.Client.Report(m)
	if err != nil {
		return nil, err
	}
	report.Program = "fedpvi " + cli.Version()
	p.reports[m.Hash] = report
	return report, nil
}

// check examines the records, like the command client check does.
func (p *Pages) check(r *http.Request) (*web.Page, error) {
	m, err := p.one(r)
	if err != nil {
		return nil, err
	}
	var body template.HTML
	err = p.exclusively(func() error {
		found, err := p.c.Check(r.Context(), m)
		if err != nil {
			return err
		}
		body, err = (&page.Check{Examined: found, Program: p.c.Program, Date: time.Now().Format("2 January 2006")}).Body()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &web.Page{Title: "Records for " + m.Study.Name, Name: "body", Of: body}, nil
}
