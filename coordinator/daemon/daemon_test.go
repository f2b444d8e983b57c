package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/internal/private"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/internal/web"
	"fedpvi/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var document = linestudy.Document(linestudy.Parts{Inference: "rounds = 1"})

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A log collects log messages. Its methods may be called concurrently.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A running is a daemon that a test has started.
type running struct {
	dir              string
	clients, metrics string
	log              *log
	stop             func() error
}

// If no port is configured, the coordinator listens on the port in the invitations. If the
// invitations have different ports, it returns an error.
func TestListensWhereItInvites(t *testing.T) {
	got, err := invited(foundedAt(t, "hub.example.org:7777", "192.0.2.1:7777"))
	if err != nil || got != ":7777" {
		t.Errorf("it listens at %q, %v; want :7777", got, err)
	}
	if _, err := invited(foundedAt(t, "hub.example.org:7777", "hub.example.org:7778")); err == nil || !strings.Contains(err.Error(), "--listen :7777") {
		t.Errorf("with two ports: %v", err)
	}
}

func foundedAt(t *testing.T, addresses ...string) []*coordinator.Study {
	t.Helper()
	hub, err := coordinator.Open(filepath.Join(t.TempDir(), "state"), coordinator.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, hub.Close()) })
	for i, address := range addresses {
		rounds := linestudy.Document(linestudy.Parts{Inference: fmt.Sprintf("rounds = %d", i+1)})
		_, _, err := hub.Found(coordinator.Founding{File: "line.toml", Document: rounds, Addresses: []string{address}}, nil, 0)
		check(t, err)
	}
	return hub.Studies()
}

// start starts a daemon on free ports and a new state directory, and waits until clients can
// connect.
func start(t *testing.T, c Config) *running {
	t.Helper()
	c.Dir = filepath.Join(t.TempDir(), "state")
	r := &running{dir: c.Dir, log: &log{}}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		c.Listen, c.Metrics, c.RoundDeadline = "127.0.0.1:0", "127.0.0.1:0", cmp.Or(c.RoundDeadline, time.Minute)
		c.Log = slog.New(slog.NewTextHandler(r.log, nil))
		c.Ready = func(clients, metrics net.Addr) {
			r.clients, r.metrics = clients.String(), metrics.String()
			close(ready)
		}
		ended <- Serve(ctx, c)
	}()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	var once sync.Once
	var err error
	r.stop = func() error {
		once.Do(func() { cancel(); err = <-ended })
		return err
	}
	t.Cleanup(func() { check(t, r.stop()) })
	return r
}

func (r *running) get(t *testing.T, path string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Get("http://" + r.metrics + path)
	check(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	check(t, err)
	if a.StatusCode != http.StatusOK {
		t.Errorf("%s: %s %s", path, a.Status, text)
	}
	return string(text)
}

// guest adds a study with one client. It returns a connection on which the client can redeem its
// invitation.
func (r *running) guest(t *testing.T) (c *transport.Client, invited string) {
	t.Helper()
	i, invited := r.found(t)
	c, err := transport.Dial(t.Context(), transport.Config{
		Address: r.clients, TLS: channel.Join(i.Study, i.Pin, time.Now), RoundDeadline: time.Minute, MaxEntry: 1,
	})
	check(t, err)
	return c, invited
}

// found adds a study with one client, and returns the client's invitation and its text.
func (r *running) found(t *testing.T) (i invitation.Invitation, text string) {
	t.Helper()
	orders, err := admin.Dial(t.Context(), r.dir)
	check(t, err)
	founded, err := orders.Found(t.Context(), admin.Founding{
		File: "plane.toml", Document: document, Addresses: []string{r.clients},
		Clients: []identity.Name{"secretive-clinic"}, Valid: time.Hour,
	})
	check(t, err)
	i, err = invitation.Parse(founded.Invited[0].Text)
	check(t, err)
	return i, founded.Invited[0].Text
}

// As soon as a study is added to a running daemon, a client can join it. The metrics must not show
// client names, and the log must not show invitations. The daemon must stop when its context ends.
func TestServe(t *testing.T) {
	notified := notifications(t)
	r := start(t, Config{})
	guest, invited := r.guest(t)
	if _, err := guest.Standing(t.Context()); err == nil {
		t.Error("a guest has a standing")
	}
	check(t, guest.Close())
	orders, err := admin.Dial(t.Context(), r.dir)
	check(t, err)
	_, err = orders.Invite(t.Context(), admin.Invitation{Clients: []identity.Name{"another-clinic"}, Valid: time.Hour})
	check(t, err)
	if got := r.get(t, "/healthz"); got != "ok\n" {
		t.Errorf("health: %q", got)
	}
	metrics := r.get(t, "/metrics")
	if !strings.Contains(metrics, `fedpvi_transactions_total{result="ok"} 1`) {
		t.Error("the metrics do not count transactions")
	}
	if !strings.Contains(metrics, "\ngo_gc_heap_live_bytes ") {
		t.Error("the metrics do not contain the memory in use")
	}
	if strings.Contains(metrics, "clinic") {
		t.Error("a client is named in the metrics")
	}
	check(t, r.stop())
	if said := r.log.String(); strings.Contains(said, invited) || strings.Contains(said, invitation.Prefix) {
		t.Error("an invitation is in the log")
	}
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		if got := <-notified; got != want {
			t.Errorf("the service manager got %q, want %q", got, want)
		}
	}
	if _, err := admin.Dial(t.Context(), r.dir); err == nil {
		t.Error("orders are accepted after the end")
	}
}

// The coordinator's metrics must be exactly those on a reviewed list. The health check must fail if
// the store cannot be used.
func TestMetricsAndHealth(t *testing.T) {
	m := newMetrics()
	m.Began()
	m.Ended()
	m.Aborted()
	m.Opened()
	m.Closed(true)
	m.Closed(false)
	m.Verdict("void")
	m.Influence("north", 11)
	m.Took()
	m.Refused("Join", "denied")
	m.Stored(2, true)
	m.Stored(3, false)
	m.Waiting("plane", 4)
	m.Audited(true)
	m.Audited(false)
	m.Called("Join", "denied")
	m.Moved(5, 6)
	m.Connected(1)
	var fault error
	h := m.handler(func() error { return fault })
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w
	}
	var got []string
	for line := range strings.Lines(get("/metrics").Body.String()) {
		if strings.HasPrefix(line, "fedpvi_") && !strings.Contains(line, "_bucket{") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := strings.Fields(`
		fedpvi_answer_norm{client="north"}~11
		fedpvi_answers_total~1
		fedpvi_audit_lines_total{result="lost"}~1
		fedpvi_audit_lines_total{result="ok"}~1
		fedpvi_batch_commands_sum~5
		fedpvi_batch_commands_count~2
		fedpvi_bytes_total{direction="received"}~5
		fedpvi_bytes_total{direction="sent"}~6
		fedpvi_calls_total{method="Join",outcome="denied"}~1
		fedpvi_connections~1
		fedpvi_refused_total{method="Join",reason="denied"}~1
		fedpvi_rounds_closed_total{answers="all"}~1
		fedpvi_rounds_closed_total{answers="some"}~1
		fedpvi_rounds_opened_total~1
		fedpvi_studies_total{state="aborted"}~1
		fedpvi_studies_total{state="began"}~1
		fedpvi_studies_total{state="ended"}~1
		fedpvi_transactions_total{result="failed"}~1
		fedpvi_transactions_total{result="ok"}~1
		fedpvi_verdicts_total{verdict="void"}~1
		fedpvi_waiting_clients{study="plane"}~4`)
	for i := range want {
		want[i] = strings.Replace(want[i], "~", " ", 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the metrics are\n%s", strings.Join(got, "\n"))
	}
	if w := get("/healthz"); w.Code != http.StatusOK {
		t.Errorf("health: %d", w.Code)
	}
	fault = errors.New("the disk is full")
	if w := get("/healthz"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("health without a store: %d", w.Code)
	}
}

// notifications returns the messages that the daemon sends to the service manager.
func notifications(t *testing.T) <-chan string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n")
	l, err := net.ListenPacket("unixgram", path)
	check(t, err)
	t.Setenv("NOTIFY_SOCKET", path)
	told := make(chan string, 4)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 100)
		for {
			n, _, err := l.ReadFrom(b)
			if err != nil {
				return
			}
			told <- string(b[:n])
		}
	}()
	t.Cleanup(func() { check(t, l.Close()); <-done })
	return told
}

func TestUntilDone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	hub, err := coordinator.Open(dir, coordinator.Options{})
	check(t, err)
	study, _, err := hub.Found(coordinator.Founding{File: "plane.toml", Document: document, Addresses: []string{"hub:1"}}, nil, 0)
	check(t, err)
	check(t, study.Abort(t.Context(), "a drill"))
	check(t, hub.Close())
	err = Serve(t.Context(), Config{Dir: dir, Listen: "127.0.0.1:0", UntilDone: true, Log: slog.New(slog.DiscardHandler)})
	check(t, err)
}

func TestSecondDaemonIsRefused(t *testing.T) {
	r := start(t, Config{})
	err := Serve(t.Context(), Config{Dir: r.dir, Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, store.ErrHeld) {
		t.Errorf("%v, want %v", err, store.ErrHeld)
	}
}

// The port of the second daemon is in use, so it must fail. It must also unlock its state
// directory.
func TestPortInUseIsRefused(t *testing.T) {
	r := start(t, Config{})
	dir := filepath.Join(t.TempDir(), "other")
	if err := Serve(t.Context(), Config{Dir: dir, Listen: r.clients, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("two daemons listen on one port")
	}
	hub, err := coordinator.Open(dir, coordinator.Options{})
	check(t, err)
	check(t, hub.Close())
}

// The daemon serves pages on the configured address, but only if other machines cannot reach it.
func TestPagesAreServed(t *testing.T) {
	r := start(t, Config{Web: "127.0.0.1:0"})
	if _, err := private.Read(filepath.Join(r.dir, web.LinkFile), 1<<10); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if log := r.log.String(); !strings.Contains(log, "serving pages") || strings.Contains(log, "token") {
		t.Errorf("the log is %s", log)
	}
	check(t, r.stop())
	err := Serve(t.Context(), Config{Dir: r.dir, Listen: "127.0.0.1:0", Web: "0.0.0.0:0", Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "--web-origin") {
		t.Errorf("an address of the network: %v", err)
	}
}
