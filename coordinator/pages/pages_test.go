package pages

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/crypto/identity"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ended is the API of a coordinator on which all studies seem to be over and all bundles are
// damaged.
type ended struct{ admin.API }

func (e ended) Status(ctx context.Context, study string) ([]coordinator.Status, error) {
	all, err := e.API.Status(ctx, study)
	for i := range all {
		all[i].Phase = coordinator.Ended
	}
	return all, err
}

func (ended) Bundle(_ context.Context, _ string, w io.Writer) error {
	_, err := w.Write([]byte("damaged"))
	return err
}

// An operator is a browser that is signed in to the pages of a hub. The hub has one study with two
// clients.
type operator struct {
	http.Client
	t    *testing.T
	base string
	hub  *coordinator.Hub
	file string // file with the login link
}

func (b *operator) link() string {
	b.t.Helper()
	text, err := os.ReadFile(b.file)
	check(b.t, err)
	return strings.TrimSpace(string(text))
}

func open(t *testing.T, change func(admin.API) admin.API) *operator {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	hub, err := coordinator.Open(dir, coordinator.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, hub.Close()) })
	document := linestudy.Document(linestudy.Parts{Version: 2, Privacy: "unit = \"record\"\nepsilon = 1\ndelta = 1e-5", Federation: "min_clients = 2\nnominal_records = 100"})
	document = bytes.Replace(document, []byte(`"A plane"`), []byte(`"A <b>plane</b>"`), 1)
	local := admin.Local{Hub: hub}
	_, err = local.Found(t.Context(), admin.Founding{File: "plane.toml", Document: document, Addresses: []string{"127.0.0.1:1"}, Clients: []identity.Name{"north", "south"}, Valid: time.Hour})
	check(t, err)
	link := filepath.Join(dir, web.LinkFile)
	site, err := Open(t.Context(), Config{Hub: hub, Orders: change(local), Address: "127.0.0.1:0", LinkFile: link, Announce: func(string) {}})
	check(t, err)
	served := make(chan error, 1)
	go func() { served <- site.Serve() }()
	jar, err := cookiejar.New(nil)
	check(t, err)
	b := &operator{http.Client{Jar: jar}, t, "http://" + site.Address(), hub, link}
	t.Cleanup(func() {
		b.CloseIdleConnections()
		check(t, site.Shutdown(context.Background()))
		check(t, <-served)
		if _, err := os.Stat(link); err == nil {
			t.Error("the login link was left behind")
		}
	})
	b.want("/", http.StatusUnauthorized, "not signed in")
	u, err := url.Parse(b.link())
	check(t, err)
	a, err := b.PostForm(b.base+"/login", u.Query())
	check(t, err)
	check(t, a.Body.Close())
	return b
}

// want requests a page. It checks the status code, and that the page has every string in texts.
func (b *operator) want(path string, status int, texts ...string) {
	b.t.Helper()
	a, err := b.Get(b.base + path)
	check(b.t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	check(b.t, err)
	if a.StatusCode != status {
		b.t.Errorf("%s: %s, want %d", path, a.Status, status)
	}
	for _, text := range texts {
		if !strings.Contains(string(body), text) {
			b.t.Errorf("%s lacks %q:\n%s", path, text, body)
		}
	}
}

// The pages must show the same as the command coordinator status, and must escape text that comes
// from the study.
func TestPagesOfAStudy(t *testing.T) {
	b := open(t, func(a admin.API) admin.API { return a })
	digest := b.hub.Studies()[0].Digest()
	b.want("/", http.StatusOK, `href="/studies/`+digest, "gathering", "waiting for clients to join and consent: north, south")
	b.want("/studies/"+digest, http.StatusOK, "A &lt;b&gt;plane&lt;/b&gt;", ">north</th>", "invited, until", "ε = 1 at δ = 1e-05", "The whole study with 2 clients")
	b.want("/studies/"+digest+"/report", http.StatusConflict, "the study is not over")
	b.want("/studies/0000", http.StatusNotFound, "has no study")
}

// The page must show an error instead of a report.
func TestReportOfADamagedBundle(t *testing.T) {
	b := open(t, func(a admin.API) admin.API { return ended{a} })
	digest := b.hub.Studies()[0].Digest()
	b.want("/studies/"+digest, http.StatusOK, "/studies/"+digest+"/report")
	b.want("/studies/"+digest+"/report", http.StatusUnprocessableEntity, "bundle")
}
