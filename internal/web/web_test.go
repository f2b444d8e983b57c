package web

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A desk is a site with one page and one form, together with one person's browser.
type desk struct {
	t      *testing.T
	site   *Site
	now    time.Time
	state  chan string // states that the site reads, one at a time
	cookie *http.Cookie
	given  []string // notes that arrived through the form
}

func open(t *testing.T, origin string) *desk {
	t.Helper()
	d := &desk{t: t, now: time.Unix(1000, 0), state: make(chan string, 10)}
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o700))
	site, err := Open(t.Context(), Options{
		Address: "127.0.0.1:0", Origin: origin, Title: "desk", LinkFile: filepath.Join(dir, LinkFile),
		Links: []Link{{"/", "Start"}},
		Pages: template.Must(template.New("note").Parse(`<p>{{.Of}}</p><form method="post" action="/note"><input name="token" value="{{.Token}}"></form>`)),
		State: func(context.Context) (string, error) { return <-d.state, nil },
		Now:   func() time.Time { return d.now },
	})
	check(t, err)
	d.site, site.look = site, time.Millisecond
	site.Get("/{$}", func(*http.Request) (*Page, error) { return &Page{"Start", "note", "<script>alert(1)</script>"}, nil })
	site.Get("/fault", func(*http.Request) (*Page, error) { panic("the record of Ada Lovelace") })
	site.Post("/note", func(r *http.Request) (string, error) {
		d.given = append(d.given, r.PostForm.Get("note"))
		return "/", nil
	})
	t.Cleanup(func() { check(t, site.Shutdown(context.Background())) })
	return d
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d *desk) link() string {
	d.t.Helper()
	text, err := os.ReadFile(d.site.o.LinkFile)
	check(d.t, err)
	u, err := url.Parse(strings.TrimSpace(string(text)))
	check(d.t, err)
	return u.Query().Get("token")
}

func (d *desk) do(method, path string, form url.Values, change func(*http.Request)) *httptest.ResponseRecorder {
	d.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Host = d.site.Address()
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if d.cookie != nil {
		r.AddCookie(d.cookie)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	d.site.ServeHTTP(w, r)
	return w
}

func (d *desk) signIn(token string) *httptest.ResponseRecorder {
	d.t.Helper()
	w := d.do(http.MethodPost, "/login", url.Values{"token": {token}}, nil)
	for _, c := range w.Result().Cookies() {
		d.cookie = c
	}
	return w
}

func (d *desk) token() string {
	d.t.Helper()
	_, after, ok := strings.Cut(d.do(http.MethodGet, "/", nil, nil).Body.String(), `action="/note"><input name="token" value="`)
	if !ok {
		d.t.Fatal("the page has no token")
	}
	token, _, _ := strings.Cut(after, `"`)
	return token
}

func (d *desk) want(w *httptest.ResponseRecorder, status int, text string) {
	d.t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		d.t.Errorf("status %d, want %d with %q:\n%s", w.Code, status, text, w.Body)
	}
}

// Opening the link must not use it up.
func TestLoginLinkIsValidOnce(t *testing.T) {
	d := open(t, "")
	link := d.link()
	d.want(d.do(http.MethodGet, "/", nil, nil), http.StatusUnauthorized, "valid once")
	d.want(d.do(http.MethodGet, "/login?token="+link, nil, nil), http.StatusOK, `name="token" value="`+link)
	d.want(d.signIn(link), http.StatusSeeOther, "")
	if c := d.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || len(c.Value) != 2*tokenSize {
		t.Errorf("the cookie is %v", c)
	}
	d.want(d.do(http.MethodGet, "/", nil, nil), http.StatusOK, "&lt;script&gt;alert(1)")
	d.cookie = nil
	d.want(d.signIn(link), http.StatusUnauthorized, "was already used")
	d.want(d.do(http.MethodGet, "/login?token="+link, nil, nil), http.StatusUnauthorized, "was already used")
	d.want(d.signIn(""), http.StatusUnauthorized, "was already used")
	d.want(d.signIn(d.link()), http.StatusSeeOther, "")
	if info, err := os.Stat(d.site.o.LinkFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the link: %v, %v", info.Mode(), err)
	}
}

// If the site replaced the link in spite of the error, the person would have no link for the next
// sign-in.
func TestLinkThatCannotBeWritten(t *testing.T) {
	d := open(t, "")
	link := d.link()
	check(t, os.Remove(d.site.o.LinkFile))
	check(t, os.Mkdir(d.site.o.LinkFile, 0o700))
	d.want(d.signIn(link), http.StatusUnprocessableEntity, "cannot be written")
}

func TestSessionEnds(t *testing.T) {
	d := open(t, "")
	d.signIn(d.link())
	d.now = d.now.Add(lifetime - 1)
	token := d.token()
	d.now = d.now.Add(1)
	d.want(d.do(http.MethodGet, "/", nil, nil), http.StatusUnauthorized, "session has ended")
	d.want(d.do(http.MethodPost, "/note", url.Values{"token": {token}}, nil), http.StatusUnauthorized, "session has ended")
	d.signIn(d.link())
	if len(d.site.sessions) != 1 {
		t.Errorf("%d sessions are kept", len(d.site.sessions))
	}
	d.want(d.do(http.MethodPost, "/logout", url.Values{"token": {d.token()}}, nil), http.StatusOK, "is signed out")
	d.want(d.do(http.MethodGet, "/", nil, nil), http.StatusUnauthorized, "not signed in")
	if d.given != nil {
		t.Errorf("the form gave %q", d.given)
	}
}

func TestForgedRequestsAreRefused(t *testing.T) {
	d := open(t, "")
	d.signIn(d.link())
	good := url.Values{"token": {d.token()}, "note": {"good"}}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		form   url.Values
		change func(*http.Request)
		status int
		text   string
	}{
		"no token":         {url.Values{"note": {"evil"}}, nil, 403, "token of this session"},
		"a foreign token":  {url.Values{"token": {newToken()}}, nil, 403, "token of this session"},
		"a foreign host":   {good, func(r *http.Request) { r.Host = "evil.example:8440" }, 421, "evil.example"},
		"a foreign origin": {good, header("Origin", "https://evil.example"), 403, "another site"},
		"the origin null":  {good, header("Origin", "null"), 403, "another site"},
		"another port":     {good, header("Origin", "http://127.0.0.1:1"), 403, "another site"},
		"a foreign fetch":  {good, header("Sec-Fetch-Site", "same-site"), 403, "another site"},
		"a long form":      {url.Values{"note": {strings.Repeat("x", maxForm)}}, nil, 400, "cannot be read"},
	} {
		w := d.do(http.MethodPost, "/note", c.form, c.change)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: status %d\n%s", name, w.Code, w.Body)
		}
	}
	if d.given != nil {
		t.Errorf("the form gave %q", d.given)
	}
	d.want(d.do(http.MethodGet, "/", nil, func(r *http.Request) { r.Host = "evil.example" }), 421, "evil.example")
	d.want(d.do(http.MethodGet, "/events", nil, header("Sec-Fetch-Site", "cross-site")), 403, "another site")
	d.want(d.do(http.MethodPost, "/note", good, header("Origin", "http://"+d.site.Address())), http.StatusSeeOther, "")
	if len(d.given) != 1 {
		t.Errorf("the form gave %q", d.given)
	}
}

func TestOriginOfAProxy(t *testing.T) {
	d := open(t, "https://fedpvi.example.org")
	proxied := func(r *http.Request) {
		r.Host = "fedpvi.example.org"
		r.Header.Set("Origin", "https://fedpvi.example.org")
	}
	w := d.do(http.MethodPost, "/login", url.Values{"token": {d.link()}}, proxied)
	d.want(w, http.StatusSeeOther, "")
	d.cookie = w.Result().Cookies()[0]
	if !d.cookie.Secure || d.cookie.Name != "__Host-fedpvi" || d.cookie.Path != "/" {
		t.Errorf("the cookie is %v", d.cookie)
	}
	d.want(d.do(http.MethodPost, "/note", url.Values{"token": {d.token()}}, proxied), http.StatusSeeOther, "")
}

func TestHeaders(t *testing.T) {
	d := open(t, "")
	answers := []*httptest.ResponseRecorder{d.do(http.MethodGet, "/login?token="+d.link(), nil, nil), d.do(http.MethodGet, "/", nil, nil)}
	d.signIn(d.link())
	for _, path := range []string{"/", "/nowhere", "/style.css", "/script.js", "/icon.svg"} {
		answers = append(answers, d.do(http.MethodGet, path, nil, nil))
	}
	for _, w := range answers {
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers %v", w.Header())
		}
		for _, inline := range []string{"<style", " style=", "<script>", " onclick="} {
			if strings.Contains(w.Body.String(), inline) {
				t.Errorf("an answer has %q:\n%s", inline, w.Body)
			}
		}
	}
	d.want(answers[3], http.StatusNotFound, "there is no page /nowhere")
}

func TestPanicShowsNothing(t *testing.T) {
	d := open(t, "")
	d.signIn(d.link())
	w := d.do(http.MethodGet, "/fault", nil, nil)
	d.want(w, http.StatusInternalServerError, "a fault in the program")
	if strings.Contains(w.Body.String(), "Lovelace") {
		t.Error("the answer shows the value of the panic")
	}
	d.want(d.do(http.MethodGet, "/", nil, nil), http.StatusOK, "alert")
}

func TestAddressesOfOtherMachinesAreRefused(t *testing.T) {
	for _, o := range []Options{
		{Address: "0.0.0.0:0"},
		{Address: ":8440"},
		{Address: "192.0.2.1:8440"},
		{Address: "example.org:8440"},
		{Address: "8440"},
		{Address: "127.0.0.1:0", Origin: "http://fedpvi.example.org"},
		{Address: "127.0.0.1:0", Origin: "https://fedpvi.example.org/path"},
		{Address: "127.0.0.1:0", Origin: "fedpvi"},
		{Address: "127.0.0.1:0", Origin: "https://fedpvi.example.org:443"},
		{Address: "127.0.0.1:0", Origin: "https://Fedpvi.example.org"},
	} {
		s, err := Open(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1") && !strings.Contains(err.Error(), "https://") {
			t.Errorf("%+v: %v, want a refusal with a remedy", o, err)
		}
		if s != nil {
			check(t, s.Shutdown(t.Context()))
		}
	}
}

// A reader is a browser that becomes too slow after some events, so that the write deadline passes.
type reader struct {
	*httptest.ResponseRecorder
	takes    int // number of events after which it becomes too slow
	deadline time.Time
	taken    chan struct{}
}

func (r *reader) SetWriteDeadline(t time.Time) error { r.deadline = t; return nil }

func (r *reader) Write(b []byte) (int, error) {
	if r.takes == 0 {
		return 0, errors.New("the deadline has passed")
	}
	r.takes--
	defer func() { r.taken <- struct{}{} }()
	return r.ResponseRecorder.Write(b)
}

// stream opens a stream of events for a reader. The returned channel is closed when the stream
// ends.
func (d *desk) stream(r *reader) (ended chan struct{}) {
	r.ResponseRecorder, r.taken, ended = httptest.NewRecorder(), make(chan struct{}, 10), make(chan struct{})
	request := httptest.NewRequestWithContext(d.t.Context(), http.MethodGet, "/events", nil)
	request.Host = d.site.Address()
	request.AddCookie(d.cookie)
	go func() {
		defer close(ended)
		d.site.ServeHTTP(r, request)
	}()
	return ended
}

// A stream must end when its reader is slow, and when the site ends.
func TestEvents(t *testing.T) {
	d := open(t, "")
	d.signIn(d.link())
	slow, quick := &reader{takes: 1}, &reader{takes: 5}
	d.state <- "a"
	ended := d.stream(slow)
	<-slow.taken
	d.state <- "b"
	<-ended
	if slow.Body.String() != "data: changed\n\n" || slow.deadline.IsZero() || len(d.site.streams) != 0 {
		t.Errorf("a slow reader got %q, with the deadline %v, and %d streams are open", slow.Body, slow.deadline, len(d.site.streams))
	}
	d.state <- "a"
	ended = d.stream(quick)
	<-quick.taken
	check(t, d.site.Shutdown(t.Context()))
	select {
	case d.state <- "a": // the stream may read the state once more
	default:
	}
	<-ended
	if got := quick.Body.String(); got != "data: changed\n\n" {
		t.Errorf("the events are %q", got)
	}
}

func TestTooManyStreams(t *testing.T) {
	d := open(t, "")
	d.signIn(d.link())
	for range maxStreams {
		d.site.streams <- struct{}{}
	}
	d.want(d.do(http.MethodGet, "/events", nil, nil), http.StatusServiceUnavailable, "close some")
}
