// Package web serves the pages of a daemon to the people who run it. The server renders the pages,
// which work without scripts and load nothing from other servers. A browser signs in with a link
// that is valid once.
//
// A [Site] listens only at an address of this machine. Browsers on other machines reach it through
// a proxy that speaks TLS, or through a tunnel, such as an ssh tunnel.
package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"fedpvi/internal/guard"
	"fedpvi/internal/private"
)

// LinkFile is the name of the file, in a daemon's state directory, that has the next login link.
const LinkFile = "login.url"

// Options configure [Open].
type Options struct {
	Address string // address of this machine at which to listen, as host:port
	// Origin is the origin that browsers use when they reach the site through a proxy, such as
	// https://fedpvi.example.org. It is empty without a proxy.
	Origin string
	Title  string             // name of the site
	Links  []Link             // links to the main pages
	Pages  *template.Template // templates of the pages, which are executed with a [View]
	Style  string             // further styles, in addition to the site's own
	// LinkFile is the path of the file that gets the next login link. Only its owner may read it.
	LinkFile string
	// Announce, unless nil, is called with the first login link.
	Announce func(link string)
	// State returns a string that changes whenever a live part of a page changes, a part that is
	// updated while the page is open. Meanwhile, State is called every second.
	State func(ctx context.Context) (string, error)
	Now   func() time.Time // the clock; nil means time.Now
}

// A Link is a link to a page.
type Link struct{ Path, Text string }

// A Page is a page to render.
type Page struct {
	Title string
	Name  string // name of the template
	Of    any    // content of the page; the template reads it as .Of
}

// A View is the value with which a page's template is executed.
type View struct {
	Of    any
	Token string // token that protects against forged requests, for the field "token" in each form
}

// An Error is an error that determines the HTTP status of its page. For other errors, the status is
// 422.
type Error struct {
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Missing returns the error for a page that does not exist.
func Missing(what string) error { return &Error{http.StatusNotFound, errors.New(what)} }

// A Site serves pages. It is safe for concurrent use, except that Get and Post must be called
// before Serve.
type Site struct {
	o        Options
	listener net.Listener
	server   *http.Server
	mux      *http.ServeMux
	base     string          // origin in login links
	hosts    map[string]bool // Host headers that are accepted
	origins  map[string]bool // Origin headers that are accepted
	streams  chan struct{}   // has one value for each open event stream
	closing  chan struct{}   // closed when the site ends
	close    func()          // closes the channel closing, once
	look     time.Duration   // interval at which an open event stream reads the state
	entry
}

const (
	maxConnections = 128
	maxStreams     = 32       // maximum number of open event streams
	maxHeader      = 8 << 10  // maximum size of a request's header in bytes
	maxForm        = 16 << 10 // maximum size of a form in bytes

	toRead  = 10 * time.Second // time limit for reading the header or the form of a request
	toWrite = 30 * time.Second // time limit for writing a page
	idle    = 2 * time.Minute
)

//go:embed layout.html web.css web.js icon.svg
var sources embed.FS

var layout = template.Must(template.ParseFS(sources, "layout.html"))

// Open listens at the address in o and makes the first login link. It fails if other machines could
// reach the address.
func Open(ctx context.Context, o Options) (*Site, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := local(o.Address); err != nil {
		return nil, err
	}
	if err := checkOrigin(o.Origin); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, err
	}
	s := &Site{
		o: o, listener: netutil.LimitListener(l, maxConnections), mux: http.NewServeMux(),
		streams: make(chan struct{}, maxStreams), closing: make(chan struct{}), look: time.Second,
		entry: entry{sessions: map[[32]byte]*session{}},
	}
	s.server = &http.Server{Handler: s, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: toRead, IdleTimeout: idle}
	s.close = sync.OnceFunc(func() { close(s.closing) })
	s.name(l.Addr().(*net.TCPAddr))
	s.routes()
	link, err := s.replaceLink()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if o.Announce != nil {
		o.Announce(link)
	}
	return s, nil
}

// local returns an error unless address is a loopback address, because other machines cannot reach
// these.
func local(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address: give host:port, as in 127.0.0.1:8440", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("pages have no TLS of their own, so they are not served at %s, where other machines could reach them: "+
			"listen at 127.0.0.1, and let a proxy with TLS pass requests on (--web-origin https://NAME), or use a tunnel (ssh -L)", address)
	}
	return nil
}

func checkOrigin(origin string) error {
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" || u.Host == "" || origin != "https://"+u.Host {
		return fmt.Errorf("%q is not the origin of a proxy with TLS: give one without a path, as in https://fedpvi.example.org", origin)
	}
	if u.Port() == "443" || u.Host != strings.ToLower(u.Host) {
		return fmt.Errorf("browsers write the origin %q differently: give it in lower case, and without the port 443, as in https://fedpvi.example.org", origin)
	}
	return nil
}

// name sets the host names by which browsers may address the site.
func (s *Site) name(at *net.TCPAddr) {
	s.hosts, s.origins = map[string]bool{}, map[string]bool{}
	for _, host := range []string{at.IP.String(), "localhost", "127.0.0.1", "::1"} {
		full := net.JoinHostPort(host, fmt.Sprint(at.Port))
		s.hosts[full], s.origins["http://"+full] = true, true
	}
	s.base = "http://" + at.String()
	s.cookie = fmt.Sprintf("fedpvi-%d", at.Port)
	if u, _ := url.Parse(s.o.Origin); s.o.Origin != "" {
		s.base, s.hosts[u.Host], s.origins[s.o.Origin] = s.o.Origin, true, true
		s.cookie, s.secure = "__Host-fedpvi", true
	}
}

// Address returns the address at which the site listens.
func (s *Site) Address() string { return s.listener.Addr().String() }

// Get registers a page for signed-in browsers. path may be a pattern as in [http.ServeMux].
func (s *Site) Get(path string, page func(r *http.Request) (*Page, error)) {
	s.mux.HandleFunc("GET "+path, s.signedIn(func(w http.ResponseWriter, r *http.Request, browser *session) {
		p, err := page(r)
		if err != nil {
			s.fail(w, browser, err)
			return
		}
		s.write(w, browser, p)
	}))
}

// Post registers a form that signed-in browsers send to a path. order carries out the form,
// and returns the path of the next page.
func (s *Site) Post(path string, order func(r *http.Request) (next string, err error)) {
	s.mux.HandleFunc("POST "+path, s.signedIn(func(w http.ResponseWriter, r *http.Request, browser *session) {
		next, err := order(r)
		if err != nil {
			s.fail(w, browser, err)
			return
		}
		http.Redirect(w, r, next, http.StatusSeeOther)
	}))
}

// Serve serves the pages until Shutdown.
func (s *Site) Serve() error {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown ends the site. It waits until running requests have finished or ctx is done, and removes
// the file with the login link.
func (s *Site) Shutdown(ctx context.Context) error {
	s.close()
	err := errors.Join(s.server.Shutdown(ctx), private.Remove(s.o.LinkFile))
	if e := s.listener.Close(); !errors.Is(e, net.ErrClosed) { // the listener is still open if the site never served
		err = errors.Join(err, e)
	}
	return err
}

// ServeHTTP implements [http.Handler]. If a page panics, the daemon goes on. It does not log the
// panic, because a page can show records.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.protect(w.Header())
	if err := s.trusted(r); err != nil {
		s.fail(w, nil, err)
		return
	}
	if err := guard.Run(func() { s.mux.ServeHTTP(w, r) }); err != nil {
		s.fail(w, nil, &Error{http.StatusInternalServerError, err})
	}
}

func (s *Site) routes() {
	for path, file := range map[string][2]string{"/script.js": {"web.js", "text/javascript"}, "/icon.svg": {"icon.svg", "image/svg+xml"}, "/style.css": {"web.css", "text/css"}} {
		text, err := sources.ReadFile(file[0])
		if err != nil {
			panic(err) // unreachable, because the files are embedded
		}
		if path == "/style.css" {
			text = append([]byte(s.o.Style), text...)
		}
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, file[1], text) })
	}
	s.mux.HandleFunc("GET /login", s.askLogin)
	s.mux.HandleFunc("POST /login", s.login)
	s.mux.HandleFunc("POST /logout", s.signedIn(s.logout))
	s.mux.HandleFunc("GET /events", s.signedIn(s.events))
	s.mux.HandleFunc("/", s.signedIn(func(w http.ResponseWriter, r *http.Request, browser *session) {
		s.fail(w, browser, Missing("there is no page "+r.URL.Path))
	}))
}

// frame has the values that the layout needs: everything on a page except its own content.
type frame struct {
	Site, Title string
	Links       []Link
	Token       string // empty unless the browser is signed in
	Content     template.HTML
	Problem     string // error to show instead of a page
	Login       string // token of a login link, when the page shows the login form
}

func (s *Site) write(w http.ResponseWriter, browser *session, p *Page) {
	var b bytes.Buffer
	if err := s.o.Pages.ExecuteTemplate(&b, p.Name, View{p.Of, browser.token}); err != nil {
		s.fail(w, browser, &Error{http.StatusInternalServerError, err})
		return
	}
	// The template has escaped all text in the content.
	s.render(w, http.StatusOK, browser, &frame{Title: p.Title, Content: template.HTML(b.String())})
}

// fail shows a page with the error. browser is nil if the browser is not signed in.
func (s *Site) fail(w http.ResponseWriter, browser *session, err error) {
	status := http.StatusUnprocessableEntity
	var e *Error
	if errors.As(err, &e) {
		status = e.Status
	}
	s.render(w, status, browser, &frame{Title: http.StatusText(status), Problem: err.Error()})
}

func (s *Site) render(w http.ResponseWriter, status int, browser *session, f *frame) {
	f.Site = s.o.Title
	if browser != nil {
		f.Links, f.Token = s.o.Links, browser.token
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, f); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, status, "text/html; charset=utf-8", b.Bytes())
}

func send(w http.ResponseWriter, status int, kind string, text []byte) {
	// SetWriteDeadline can fail only for response writers in tests, which have no deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(toWrite))
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(text) // an error means that the browser went away
}
