package pages

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/internal/table/origin"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/internal/web"
	"fedpvi/pvi/words"
	"fedpvi/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A holder is a data holder whose client has joined a study. Its browser is signed in.
type holder struct {
	http.Client
	t      *testing.T
	base   string
	dir    string // state directory
	study  *coordinator.Study
	client *client.Client
	member *client.Member // the Member that runs use and modify
	pages  *Pages
	other  invitation.Invitation // the other client's invitation
	cut    bool                  // whether the connection to the coordinator breaks before an answer is sent
}

// A cut is a connection that has been broken.
type cut struct{ client.Link }

func (cut) Approve(context.Context, []byte) error { return errors.New("the connection broke") }

// coordinate starts a coordinator that has a study for two clients. The study's title has HTML
// tags. It returns an invitation for each client.
func coordinate(t *testing.T) (*coordinator.Study, []invitation.Invitation) {
	t.Helper()
	hub, err := coordinator.Open(filepath.Join(t.TempDir(), "hub"), coordinator.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, hub.Close()) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	document := linestudy.Document(linestudy.Parts{Version: 2, Privacy: "unit = \"record\"\nepsilon = 0.5\ndelta = 1e-5", Federation: "nominal_records = 100"})
	document = bytes.Replace(document, []byte(`"A plane"`), []byte(`"A <b>plane</b>"`), 1)
	study, _, err := hub.Found(coordinator.Founding{File: "plane.toml", Document: document, Addresses: []string{l.Addr().String()}}, nil, 0)
	check(t, err)
	server, err := transport.NewServer(transport.ServerConfig{RoundDeadline: time.Minute})
	check(t, err)
	check(t, server.Add(transport.Study{Document: study.Hash(), TLS: study.TLS, Coordinator: study, MaxRelease: study.LargestBody(), Seen: study.Seen}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		server.Shutdown(ctx)
		check(t, <-served)
	})
	invited, err := study.Invite(t.Context(), []identity.Name{"north", "south"}, time.Hour)
	check(t, err)
	var all []invitation.Invitation
	for _, text := range invited {
		i, err := invitation.Parse(text.Text)
		check(t, err)
		all = append(all, i)
	}
	return study, all
}

func join(t *testing.T, dir string, i invitation.Invitation) (*client.Client, *client.Member) {
	t.Helper()
	c, err := client.Open(client.Options{Dir: dir, Program: "test", Create: true})
	check(t, err)
	t.Cleanup(func() { check(t, c.Close()) })
	guest, err := c.DialGuest(t.Context(), i, client.Network{})
	check(t, err)
	m, _, err := c.Join(t.Context(), i, guest, accountant.Target{Epsilon: 1, Delta: 1e-5})
	check(t, errors.Join(err, guest.Close()))
	return c, m
}

func open(t *testing.T) *holder {
	t.Helper()
	study, invited := coordinate(t)
	jar, err := cookiejar.New(nil)
	check(t, err)
	h := &holder{Client: http.Client{Jar: jar}, t: t, dir: filepath.Join(t.TempDir(), "state"), study: study, other: invited[1]}
	h.client, h.member = join(t, h.dir, invited[0])
	records := filepath.Join(t.TempDir(), "<i>.csv")
	check(t, os.WriteFile(records, []byte("x,y\n0.5,1\n<script>,2\n"), 0o600))
	members, err := h.client.Members()
	check(t, err)
	var link string
	h.pages, err = Open(t.Context(), Config{
		Client: h.client, Members: members, Policy: func() (*client.Policy, error) { return client.LoadPolicy(h.dir) },
		Approve: func(m *client.Member, p *client.Policy, dataset, digest string) error {
			_, err := h.client.Approve(m, p, dataset, digest)
			return err
		},
		Leave: func(ctx context.Context, m *client.Member, reason string) error {
			if h.cut {
				return h.client.Leave(ctx, m, reason, cut{})
			}
			line, err := h.client.Dial(ctx, m, client.Network{})
			if err != nil {
				return err
			}
			return errors.Join(h.client.Leave(ctx, m, reason, line), line.Close())
		},
		Check: func(ctx context.Context, m *client.Member) (*words.Examined, error) {
			_, found, err := client.ExamineRecords(ctx, m.Study, origin.Source{From: records}, "")
			return &words.Examined{Study: m.Study, File: records, Of: found}, err
		},
		Address: "127.0.0.1:0", LinkFile: filepath.Join(h.dir, web.LinkFile), Announce: func(l string) { link = l },
	})
	check(t, err)
	h.serve()
	h.signIn(link)
	return h
}

func (h *holder) signIn(link string) {
	h.t.Helper()
	u, err := url.Parse(link)
	check(h.t, err)
	h.base = "http://" + u.Host
	a, err := h.PostForm(h.base+"/login", u.Query())
	h.want(a, err, http.StatusOK, "Studies")
}

func (h *holder) serve() {
	served := make(chan error, 1)
	go func() { served <- h.pages.Serve() }()
	h.t.Cleanup(func() {
		h.CloseIdleConnections()
		check(h.t, h.pages.Shutdown(context.Background()))
		check(h.t, <-served)
	})
}

// want checks the status code of a response, and that its body has every string in texts.
func (h *holder) want(a *http.Response, err error, status int, texts ...string) string {
	h.t.Helper()
	check(h.t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	check(h.t, err)
	if a.StatusCode != status {
		h.t.Errorf("%s: %s, want %d:\n%s", a.Request.URL.Path, a.Status, status, body)
	}
	for _, text := range texts {
		if !strings.Contains(string(body), text) {
			h.t.Errorf("%s lacks %q:\n%s", a.Request.URL.Path, text, body)
		}
	}
	return string(body)
}

func (h *holder) get(path string, status int, texts ...string) string {
	h.t.Helper()
	a, err := h.Get(h.base + path)
	return h.want(a, err, status, texts...)
}

// link returns the next login link.
func (h *holder) link(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, web.LinkFile))
	check(t, err)
	return strings.TrimSpace(string(text))
}

func (h *holder) path(of string) string { return "/studies/" + h.study.Digest() + of }

var hidden = regexp.MustCompile(`name="(token|policy|digest)" (?:value="([^"]*)")`)

// post submits a form on the study's page, with its hidden fields and the given ones. An empty
// value removes a field.
func (h *holder) post(form string, fields map[string]string, status int, texts ...string) {
	h.t.Helper()
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(h.get(h.path(""), http.StatusOK), -1) {
		values.Set(m[1], m[2])
	}
	for name, value := range fields {
		if value == "" {
			values.Del(name)
			continue
		}
		values.Set(name, value)
	}
	a, err := h.PostForm(h.base+h.path(form), values)
	h.want(a, err, status, texts...)
}

// The pages must escape text that comes from the study or the records. The examination must be
// available until a run begins.
func TestReviewAndCheck(t *testing.T) {
	h := open(t)
	h.get("/", http.StatusOK, "A &lt;b&gt;plane&lt;/b&gt;", "<strong>not approved</strong>")
	policy, err := client.LoadPolicy(h.dir)
	check(t, err)
	review, err := h.client.Review(h.member, policy, "")
	check(t, err)
	page := h.get(h.path(""), http.StatusOK, "A &lt;b&gt;plane&lt;/b&gt;", "Approve</button>", "Refuse</button>")
	for _, s := range review.Sections() {
		if !strings.Contains(page, ">"+s.Title+"</h2>") {
			t.Errorf("the page lacks the section %q", s.Title)
		}
	}
	h.get(h.path("/document"), http.StatusOK, "A &lt;b&gt;plane&lt;/b&gt;")
	h.get(h.path("/check"), http.StatusOK, "&lt;i&gt;.csv", "&lt;script&gt;", "2 rows: the study uses 1 record", "without any noise")
	h.get("/studies/00", http.StatusNotFound, "has not joined")
	h.pages.Begin()
	h.get(h.path("/check"), http.StatusConflict, "a study is running")
	if page := h.get(h.path(""), http.StatusOK); strings.Contains(page, "Approve</button>") {
		t.Error("a study can be approved while it runs")
	}
}

// An approval must have the digest of the study and the hash of the policy, as shown on the page. A
// run that was waiting for it must continue with this policy.
func TestApproval(t *testing.T) {
	h := open(t)
	h.get("/ledger", http.StatusOK, "no budget yet")
	h.post("/approve", map[string]string{"digest": ""}, http.StatusUnprocessableEntity, "tick that you have read")
	h.post("/approve", map[string]string{"digest": strings.Repeat("0", 64)}, http.StatusConflict, "another study")
	h.post("/approve", map[string]string{"policy": strings.Repeat("0", 64)}, http.StatusConflict, "policy has changed")
	h.post("/approve", map[string]string{"token": ""}, http.StatusForbidden, "token of this session")
	h.post("/approve", map[string]string{"dataset": "nowhere"}, http.StatusUnprocessableEntity, "nowhere")
	if a := h.client.Store().Accounts(); len(a) != 0 {
		t.Fatalf("a refused form made %v", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // unblocks the goroutine if the test fails
	decided := make(chan error, 1)
	go func() {
		policy, err := h.pages.Decision(ctx, h.member)
		if err == nil {
			if _, approved := h.client.Terms(h.member, policy); !approved {
				err = errors.New("the study is not approved under the policy of the run")
			}
		}
		decided <- err
	}()
	h.post("/approve", nil, http.StatusOK, "<strong>approved</strong>")
	check(t, <-decided)
	h.get("/ledger", http.StatusOK, "ε ≤ 1 at δ = 1e-05 for one row", "is spent and")
	h.pages.Begin()
	h.pages.Show(client.Status{Study: "plane", Asked: 2, Of: 13, Waiting: "<i>south</i>", Since: time.Unix(1000, 0)})
	h.get("/", http.StatusOK, "plan 2 of 13", "waiting for &lt;i&gt;south&lt;/i&gt;")
	h.post("/approve", nil, http.StatusConflict, "a study is running")
	h.post("/refuse", map[string]string{"digest": h.study.Digest(), "reason": "no"}, http.StatusConflict, "a study is running")
}

func TestRefusal(t *testing.T) {
	h := open(t)
	h.post("/refuse", map[string]string{"digest": ""}, http.StatusUnprocessableEntity, "tick that the client cannot come back")
	h.post("/refuse", map[string]string{"reason": ""}, http.StatusUnprocessableEntity, "give a reason")
	decided := make(chan error, 1)
	go func() {
		_, err := h.pages.Decision(t.Context(), h.member)
		decided <- err
	}()
	h.post("/refuse", map[string]string{"reason": "our board declined"}, http.StatusOK, "left")
	if err := <-decided; client.CodeOf(err) != client.Declined {
		t.Errorf("the run goes on after %v", err)
	}
	status, err := h.study.Status(t.Context())
	check(t, err)
	if status.Clients[0].State != "left" {
		t.Errorf("for the coordinator the client %s", status.Clients[0].State)
	}
	if page := h.get(h.path(""), http.StatusOK, "cannot come back"); strings.Contains(page, "Refuse</button>") {
		t.Error("a study can be refused twice")
	}
}

// Even so, the client must have left the study, and a run must not begin.
func TestRefusalThatDoesNotArrive(t *testing.T) {
	h := open(t)
	h.cut = true
	h.post("/refuse", map[string]string{"reason": "no"}, http.StatusUnprocessableEntity, "the connection broke", "run client leave again")
	if _, err := h.pages.Decision(t.Context(), h.member); client.CodeOf(err) != client.Declined {
		t.Errorf("the run goes on after %v", err)
	}
}
