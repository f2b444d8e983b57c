package transport

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
)

var document = sha256.Sum256([]byte("a study document"))

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An office has the keys of a study and issues certificates to its parties.
type office struct {
	t         testing.TB
	document  channel.Hash
	authority *channel.Authority
	day       time.Time
	pins      map[channel.Party]identity.Pin
	hub       *channel.Credentials
	hubPin    identity.Pin
}

func newOffice(t testing.TB, document channel.Hash) *office {
	t.Helper()
	day := time.Now() // simulated time if the test uses package synctest
	o := &office{t: t, document: document, day: day, pins: map[channel.Party]identity.Pin{}}
	var err error
	o.authority, err = channel.CreateAuthority(nil, filepath.Join(t.TempDir(), "keys", "authority.key"), document, day, day.AddDate(1, 0, 0))
	check(t, err)
	o.hub = o.credentials("hub", identity.Coordinator)
	o.hubPin = o.pins[channel.Party{Study: document, Role: identity.Coordinator, Name: "hub"}]
	return o
}

func (o *office) credentials(name identity.Name, role identity.Role) *channel.Credentials {
	o.t.Helper()
	p := channel.Party{Study: o.document, Role: role, Name: name}
	signer, err := identity.Generate()
	check(o.t, err)
	key, err := channel.GenerateKey()
	check(o.t, err)
	request, err := channel.NewRequest(signer, key, p)
	check(o.t, err)
	certificate, err := o.authority.Issue(request, p, signer.Public(), key.Pin(), o.day, o.day.AddDate(1, 0, 0))
	check(o.t, err)
	o.pins[p] = key.Pin()
	c, err := channel.NewCredentials(p, key, o.authority.Certificate(), certificate, o.day)
	check(o.t, err)
	return c
}

func (o *office) pin(p channel.Party) (identity.Pin, bool) {
	pin, ok := o.pins[p]
	return pin, ok
}

// study returns a configuration of the study for [Server.Add]. It allows guests.
func (o *office) study(c Coordinator) Study {
	server := channel.Server{Credentials: o.hub, Pins: o.pin, Guests: true, Now: time.Now}
	return Study{Document: o.document, TLS: server.Config, Coordinator: c, MaxRelease: 8 << 20}
}

// pipe is the capacity of a connection in each direction, in bytes.
const pipe = 256 << 10

// A world is a server for tests. An office has the study's keys, a desk is the coordinator, and the
// listener is in memory.
type world struct {
	*office
	desk     *desk
	server   *Server
	listener *bufconn.Listener
	served   chan error
}

func newWorld(t testing.TB) *world { return newWorldWith(t, ServerConfig{}, ours) }

func newWorldWith(t testing.TB, config ServerConfig, speaks versions) *world {
	t.Helper()
	w := &world{office: newOffice(t, document), desk: newDesk(), listener: bufconn.Listen(pipe), served: make(chan error, 1)}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	w.server, err = NewServer(config)
	check(t, err)
	w.server.versions = speaks
	check(t, w.server.Add(w.study(w.desk)))
	go func() { w.served <- w.server.Serve(w.listener) }()
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.server.Shutdown(ctx)
	if err := <-w.served; err != nil {
		w.t.Error(err)
	}
}

func (w *world) dialer(ctx context.Context, _, _ string) (net.Conn, error) {
	return w.listener.DialContext(ctx)
}

func (w *world) config(name identity.Name) Config {
	credentials := w.credentials(name, identity.Client)
	return Config{
		Address:  "hub.example.org:7443",
		TLS:      channel.Client{Credentials: credentials, Pins: w.pin, Now: time.Now}.Config(),
		MaxEntry: 16 << 20, DialContext: w.dialer,
	}
}

func (w *world) guest() Config {
	c := w.config("guest")
	c.TLS = channel.Join(w.document, w.hubPin, time.Now)
	return c
}

func (w *world) dial(config Config) *Client {
	w.t.Helper()
	c, err := Dial(w.t.Context(), config)
	check(w.t, err)
	w.t.Cleanup(func() { c.Close() })
	return c
}

// A desk is a [Coordinator] that keeps everything in memory. It expects an answer's envelope to be
// the hash of the body.
type desk struct {
	mu       sync.Mutex
	entries  []Item
	more     chan struct{} // closed when there is a new entry
	bodies   map[Hash]*upload
	peers    map[string]channel.Party // last caller of each method
	err      error                    // error that Approve, Pieces, Confirm and Complain return
	approved [][]byte
	waits    int  // number of calls to Entry
	prompt   bool // unlike an older program, accepts a body that comes with its offer
}

type upload struct {
	want Hash
	body []byte
	took int
}

func newDesk() *desk {
	return &desk{more: make(chan struct{}), bodies: map[Hash]*upload{}, peers: map[string]channel.Party{}}
}

func (d *desk) called(method string, peer channel.Party) func() {
	d.mu.Lock()
	d.peers[method] = peer
	return d.mu.Unlock
}

func (d *desk) say(body []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := sha256.Sum256(body)
	d.entries = append(d.entries, Item{Envelope: sum[:], Body: body})
	close(d.more)
	d.more = make(chan struct{})
}

func (d *desk) Join(_ context.Context, r JoinRequest) (Admission, error) {
	defer d.called("Join", channel.Party{})()
	if string(r.Token) != "token" {
		return Admission{}, &Refusal{Denied, "an unknown invitation"}
	}
	return Admission{Study: []byte("study"), Authority: []byte("authority"), Certificate: r.Request, Coordinator: r.Entry}, nil
}

func (d *desk) Renew(_ context.Context, peer channel.Party, r RenewRequest) (Renewed, error) {
	defer d.called("Renew", peer)()
	return Renewed{Certificate: r.Request, Authority: []byte("authority"), Signature: []byte("signature"), Renewals: [][]byte{r.Renewal, []byte("second")}}, nil
}

func (d *desk) Standing(_ context.Context, peer channel.Party) (Standing, error) {
	defer d.called("Standing", peer)()
	return Standing{Entries: uint64(len(d.entries)), Approved: len(d.approved) > 0}, nil
}

func (d *desk) Approve(_ context.Context, peer channel.Party, envelope []byte) error {
	defer d.called("Approve", peer)()
	if d.err == nil {
		d.approved = append(d.approved, bytes.Clone(envelope))
	}
	return d.err
}

func (d *desk) Entry(ctx context.Context, peer channel.Party, number uint64) (Item, error) {
	unlock := d.called("Entry", peer)
	d.waits++
	unlock()
	for {
		unlock := d.called("Entry", peer)
		entries, more := d.entries, d.more
		unlock()
		if number <= uint64(len(entries)) {
			return entries[number-1], nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return Item{}, ctx.Err()
		}
	}
}

func (d *desk) Offer(_ context.Context, peer channel.Party, envelope, whole []byte) (int64, error) {
	defer d.called("Offer", peer)()
	if len(envelope) != sha256.Size {
		return 0, &Refusal{Malformed, "an invalid envelope"}
	}
	id := sha256.Sum256(envelope)
	if d.bodies[id] == nil {
		d.bodies[id] = &upload{want: Hash(envelope)}
	}
	if u := d.bodies[id]; d.prompt && len(u.body) == 0 && sha256.Sum256(whole) == u.want {
		u.body, u.took = bytes.Clone(whole), 1
	}
	return int64(len(d.bodies[id].body)), nil
}

func (d *desk) Write(_ context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) error {
	defer d.called("Write", peer)()
	u := d.bodies[envelope]
	if u == nil || offset != int64(len(u.body)) {
		return &Refusal{OutOfPlace, "a piece that does not follow"}
	}
	u.body = append(u.body, piece...)
	if sha256.Sum256(u.body) == u.want {
		u.took++
	}
	return nil
}

func item(body []byte) Item {
	sum := sha256.Sum256(body)
	return Item{Envelope: sum[:], Body: body}
}

func (d *desk) taken(it Item) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u := d.bodies[sha256.Sum256(it.Envelope)]; u != nil && bytes.Equal(u.body, it.Body) {
		return u.took
	}
	return 0
}

// written returns how many bytes have arrived, in all calls together.
func (d *desk) written() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range d.bodies {
		n += len(u.body)
	}
	return n
}

func (d *desk) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waits
}

func wantRefusal(t testing.TB, err error, reason Reason) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != reason {
		t.Errorf("%v, want a refusal as %s", err, reason)
	}
}

func wantBreach(t testing.TB, err error) {
	t.Helper()
	if b := new(*Breach); !errors.As(err, b) {
		t.Errorf("%v, want a violation of the protocol", err)
	}
}

func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
