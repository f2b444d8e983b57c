// Package pages shows a coordinator's studies to its operator in a browser: the clients, the rounds
// and their verdicts, the clients that a study is waiting for, the privacy cost, and the report.
// The pages show as much as the commands coordinator status and coordinator report, and cannot
// change a study.
package pages

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"sync"
	"time"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/internal/cli"
	"fedpvi/internal/web"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/page"
	"fedpvi/pvi/session"
	"fedpvi/pvi/words"
)

// Config configures [Open].
type Config struct {
	Hub      *coordinator.Hub
	Orders   admin.API // reads the status and the bundle of a study
	Address  string    // address (host:port) on this machine
	Origin   string    // origin of a proxy in front of the pages, as in [web.Options]
	LinkFile string
	Announce func(link string)
}

type pages struct {
	Config

	mu      sync.Mutex
	costs   map[string]cost          // keyed by the study's digest and the clients' names
	reports map[string]template.HTML // reports, which never change, keyed by the study's digest
}

//go:embed study.html
var sources embed.FS

var templates = template.Must(template.New("pages").Funcs(template.FuncMap{
	"number": words.Number,
	"clock":  func(t time.Time) string { return t.Format("2 Jan 15:04:05") },
	"short":  func(digest string) string { return digest[:12] },
}).ParseFS(sources, "*.html"))

// Open listens on the address in c. The caller must then call Serve.
func Open(ctx context.Context, c Config) (*web.Site, error) {
	p := &pages{Config: c, costs: map[string]cost{}, reports: map[string]template.HTML{}}
	site, err := web.Open(ctx, web.Options{
		Address: c.Address, Origin: c.Origin, Title: "fedpvi coordinator", Links: []web.Link{{Path: "/", Text: "Studies"}},
		Pages: templates, Style: page.Style, LinkFile: c.LinkFile, Announce: c.Announce, State: p.state,
	})
	if err != nil {
		return nil, err
	}
	site.Get("/{$}", p.index)
	site.Get("/studies/{study}", p.study)
	site.Get("/studies/{study}/report", p.report)
	return site, nil
}

// state returns the status of all studies as text.
func (p *pages) state(ctx context.Context) (string, error) {
	all, err := p.Orders.Status(ctx, "")
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(all)
	return string(text), err
}

func (p *pages) index(r *http.Request) (*web.Page, error) {
	all, err := p.Orders.Status(r.Context(), "")
	if err != nil {
		return nil, err
	}
	return &web.Page{Title: "Studies", Name: "index", Of: all}, nil
}

// one returns the study that a request's path identifies, and its status.
func (p *pages) one(r *http.Request) (*coordinator.Status, *coordinator.Study, error) {
	study, err := p.Hub.Study(r.PathValue("study"))
	if err != nil {
		return nil, nil, web.Missing(err.Error())
	}
	all, err := p.Orders.Status(r.Context(), study.Digest())
	if err != nil {
		return nil, nil, err
	}
	return &all[0], study, nil
}

// A view is the content of a study's page.
type view struct {
	*coordinator.Status
	Title string
	Over  bool
	Cost  cost
}

func (p *pages) study(r *http.Request) (*web.Page, error) {
	status, study, err := p.one(r)
	if err != nil {
		return nil, err
	}
	v := &view{Status: status, Title: study.Document().Title, Over: status.Phase == coordinator.Ended, Cost: p.cost(study, status)}
	return &web.Page{Title: v.Study, Name: "study", Of: v}, nil
}

// A cost is the privacy cost of a study to a client.
type cost struct {
	Clients    int
	Headline   string
	Conditions string
	Of         []method.Cost
	Problem    string // why the cost is unknown
}

// cost returns the privacy cost of a study with its present clients.
func (p *pages) cost(study *coordinator.Study, status *coordinator.Status) cost {
	var clients []pvi.ClientID
	for _, c := range status.Clients {
		if status.Phase == coordinator.Gathering && !c.Gone() || c.TakesPart() {
			clients = append(clients, pvi.ClientID(c.Name))
		}
	}
	key := study.Digest()
	for _, id := range clients {
		key += " " + string(id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.costs[key]
	if !ok {
		known = newCost(study, clients)
		p.costs[key] = known
	}
	return known
}

func newCost(study *coordinator.Study, clients []pvi.ClientID) cost {
	c := cost{Clients: len(clients)}
	protocol, err := session.Public(study.Document(), clients)
	if err == nil {
		c.Of, err = session.Costs(study.Document(), clients)
	}
	switch {
	case err != nil:
		c.Problem = err.Error()
	case len(c.Of) == 0:
		c.Headline = "None: the study makes no promise, and its messages can reveal single records."
	default:
		c.Headline, c.Conditions = words.Headline(c.Of), words.Conditions(protocol)
	}
	return c
}

// report verifies the bundle of a study that is over, and returns the report page.
func (p *pages) report(r *http.Request) (*web.Page, error) {
	status, study, err := p.one(r)
	if err != nil {
		return nil, err
	}
	if status.Phase != coordinator.Ended {
		return nil, &web.Error{Status: http.StatusConflict, Err: errors.New("the study is not over: it has no report yet")}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	body, ok := p.reports[study.Digest()]
	if !ok {
		if body, err = p.newReport(r.Context(), study); err != nil {
			return nil, err
		}
		p.reports[study.Digest()] = body
	}
	return &web.Page{Title: "Report on " + study.Name(), Name: "body", Of: body}, nil
}

func (p *pages) newReport(ctx context.Context, study *coordinator.Study) (template.HTML, error) {
	report, err := admin.Report(ctx, p.Orders, study.Digest())
	if err != nil {
		return "", err
	}
	report.Program = "fedpvi " + cli.Version()
	return report.Body()
}
