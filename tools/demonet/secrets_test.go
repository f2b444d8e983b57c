package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/coordinator/admin"
	"fedpvi/coordinator/daemon"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/internal/table/origin"
	"fedpvi/internal/testing/canary"
)

const watched = `
[study]
version = 1
name = "watched"
[[column]]
name = "x"
type = "numeric"
bounds = [-10, 10]
[[column]]
name = "y"
type = "numeric"
bounds = [-10, 10]
[model]
family = "linear"
outcome = "y"
terms = ["x"]
noise_sd = 1.0
[prior]
sd = 1.0
[inference]
rounds = 2
[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
`

// A tap is a writer that keeps everything written to it.
type tap struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (w *tap) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(b)
}

func (w *tap) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An observed is a federation in one process that records all of its output: logs at every level,
// errors, metrics, and the bytes on connections.
type observed struct {
	t       *testing.T
	dir     string
	shown   tap
	clients string // address at which clients reach the coordinator, through the wiretap
	metrics string
	gossip  string // address for the coordinator's gossip
}

func (o *observed) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(&o.shown, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// fail records an error as a user would see it.
func (o *observed) fail(err error) {
	o.t.Helper()
	if err == nil {
		o.t.Error("no error where one is wanted")
	}
	fmt.Fprintf(&o.shown, "%v\n%+v\n", err, err)
}

// serve runs the coordinator's daemon until the study is over. The daemon's error arrives on the
// returned channel.
func (o *observed) serve() <-chan error {
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- daemon.Serve(o.t.Context(), daemon.Config{
			Dir: filepath.Join(o.dir, "hub"), Listen: o.clients, Metrics: "127.0.0.1:0", Gossip: o.gossip, UntilDone: true, Log: o.log(),
			Ready: func(_, metrics net.Addr) {
				o.metrics = metrics.String()
				close(ready)
			},
		})
	}()
	select {
	case <-ready:
	case err := <-done:
		o.t.Fatal(err)
	}
	return done
}

// wiretap forwards connections from the address at to the address to and records their bytes. It
// returns the address at which it listens.
func (o *observed) wiretap(at, to string) (address string) {
	l, err := net.Listen("tcp", at)
	check(o.t, err)
	var pipes sync.WaitGroup
	o.t.Cleanup(func() {
		l.Close()
		pipes.Wait()
	})
	pipes.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				pipes.Go(func() {
					// Copy returns when the connection has ended.
					_, _ = io.Copy(way[1], io.TeeReader(way[0], &o.shown))
					way[0].Close()
					way[1].Close()
				})
			}
		}
	})
	return l.Addr().String()
}

// tapped is a second loopback address. On it, a wiretap can have the same port as the coordinator.
const tapped = "127.0.0.2"

func (o *observed) free() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(o.t, err)
	check(o.t, l.Close())
	return l.Addr().String()
}

func (o *observed) open(name identity.Name) *client.Client {
	o.t.Helper()
	c, err := client.Open(client.Options{
		Dir: filepath.Join(o.dir, string(name)), Program: "test 1", Command: "a test", Now: time.Now, Log: o.log(), Create: true,
	})
	check(o.t, err)
	return c
}

// take runs a client from joining to the end of the study. Before the client approves the study,
// take also tries to take part, which must fail.
func (o *observed) take(ctx context.Context, name identity.Name, text, data string) error {
	c := o.open(name)
	defer c.Close()
	i, err := invitation.Parse(text)
	if err != nil {
		return err
	}
	guest, err := c.DialGuest(ctx, i, client.Network{})
	if err != nil {
		return err
	}
	member, _, err := c.Join(ctx, i, guest, accountant.Target{Epsilon: 5, Delta: 1e-5})
	if err != nil {
		return err
	}
	if err := guest.Close(); err != nil {
		return err
	}
	policy, err := client.LoadPolicy(filepath.Join(o.dir, string(name)))
	if err != nil {
		return err
	}
	run := client.Run{
		Member: member, Policy: policy, Data: origin.Source{From: data},
		Connect: func(ctx context.Context) (client.Link, io.Closer, error) {
			line, err := c.Dial(ctx, member, client.Network{})
			return line, line, err
		},
		Wait:   func(context.Context, time.Duration) error { return context.DeadlineExceeded },
		Gossip: "127.0.0.1:0",
		Show:   func(s client.Status) { fmt.Fprintf(&o.shown, "%+v\n", s) },
	}
	_, err = c.Run(ctx, run)
	o.fail(err) // this must fail, because the client has not approved the study
	if _, err := c.Approve(member, policy, "", member.Hash.String()); err != nil {
		return err
	}
	review, err := c.Review(member, policy, "")
	if err != nil {
		return err
	}
	if err := errors.Join(review.Text(&o.shown), o.measure()); err != nil {
		return err
	}
	if _, err := c.Run(ctx, run); err != nil {
		return err
	}
	for _, f := range c.Examine(ctx, client.Examination{}) {
		fmt.Fprintf(&o.shown, "%+v\n", f)
	}
	return nil
}

func (o *observed) measure() error {
	answer, err := http.Get("http://" + o.metrics + "/metrics")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(&o.shown, answer.Body)
	return err
}

// secretRecords returns a file with eleven records of one client, and the numbers that the file
// has.
func secretRecords(m int) (file string, values []float64) {
	file = "x,y\n"
	for i := range 11 {
		x := math.Sqrt(float64(2+7*i+101*m)) / 4
		y := math.Cbrt(float64(3 + 5*i + 77*m))
		file += fmt.Sprintf("%v,%v\n", x, y)
		values = append(values, x, y)
	}
	return file, values
}

// modes checks that only the owner can access the files and folders in the state directories below
// dir.
func modes(t *testing.T, dir string) {
	t.Helper()
	files := 0
	for _, state := range []string{"hub", "north", "south"} {
		check(t, filepath.WalkDir(filepath.Join(dir, state), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			} else {
				files++
			}
			if err == nil && info.Mode().Perm() != want {
				err = fmt.Errorf("%s has mode %04o", path, info.Mode().Perm())
			}
			return err
		}))
	}
	if files < 15 {
		t.Errorf("there are %d files", files)
	}
}

var keyLine = regexp.MustCompile(`(?m)^fedpvi-[a-z-]+ v1 (\S+)$`)

func keys(t *testing.T, dir string) (all [][]byte) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".key" {
			return err
		}
		text, err := os.ReadFile(path)
		if m := keyLine.FindSubmatch(text); m != nil {
			all = append(all, m[1])
		} else if err == nil {
			err = fmt.Errorf("%s: no key in it", path)
		}
		return err
	}))
	return all
}

// The test runs a whole study, in which some calls are refused. No key, invitation or record value
// may occur in a log, an error, a metric or a review, or in the bytes of a connection. Only the
// owner may read the files of the two programs.
//
//abuse:case A17 a whole study of real processes: nothing in logs, errors, metrics, reviews or on the wire
//abuse:case P14 the token is in a file of its own, and in no log
func TestNoSecretIsShown(t *testing.T) {
	o := &observed{t: t, dir: t.TempDir()}
	o.clients, o.gossip = o.free(), o.free()
	names := []identity.Name{"north", "south"}
	state, err := coordinator.Open(filepath.Join(o.dir, "hub"), coordinator.Options{Log: o.log()})
	check(t, err)
	founded, err := admin.Local{Hub: state}.Found(t.Context(), admin.Founding{
		File: "watched.toml", Document: []byte(watched), Name: "hub", Addresses: []string{o.wiretap(tapped+":0", o.clients)}, Clients: names, Valid: time.Hour,
	})
	check(t, err)
	check(t, state.Close())
	// Clients send gossip to the host to which they connect. In this test, that is the wiretap, so
	// it must listen on the coordinator's gossip port too.
	_, port, err := net.SplitHostPort(o.gossip)
	check(t, err)
	o.wiretap(net.JoinHostPort(tapped, port), o.gossip)
	over := o.serve()

	var values []float64
	played := make(chan error, len(names))
	for m, name := range names {
		file, own := secretRecords(m)
		values = append(values, own...)
		data := filepath.Join(o.dir, string(name)+".csv")
		check(t, os.WriteFile(data, []byte(file), 0o600))
		go func() { played <- o.take(t.Context(), name, founded.Invited[m].Text, data) }()
	}
	for range names {
		check(t, <-played)
	}
	o.stranger(founded.Invited[0].Text)
	check(t, <-over)
	secret := keys(t, o.dir)
	if len(secret) < 2*len(names)+2 {
		t.Fatalf("%d keys were found", len(secret))
	}

	modes(t, o.dir)

	shown := o.shown.String()
	for _, want := range []string{"round closed", "not approved", "fedpvi_connections", gossiped([]byte(watched))} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown: nothing is looked at", want)
		}
	}
	if d := duration.FindString(shown); d != "" {
		t.Errorf("how long something took is shown, which depends on records: %s", d)
	}
	for _, key := range secret {
		canary.Absent(t, shown, key)
	}
	for _, i := range founded.Invited {
		canary.Absent(t, shown, []byte(i.Text)[len(i.Text)-60:])
	}
	for _, x := range values {
		canary.Absent(t, shown, fmt.Appendf(nil, "%.8f", x))
		canary.Absent(t, shown, binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	}
}

// gossiped returns the bytes at the beginning of every gossip message of a study.
func gossiped(document []byte) string {
	label := channel.ServerName(sha256.Sum256(document))
	return "\xf4" + string(rune(len(label))) + label
}

// duration matches metrics and log lines that have a duration.
var duration = regexp.MustCompile(`(?m)^fedpvi_\w*seconds.*$|\b(took|duration|elapsed)=\S+`)

// stranger runs an unknown client that tries an invitation which was used before.
func (o *observed) stranger(text string) {
	c := o.open("stranger")
	defer c.Close()
	i, err := invitation.Parse(text)
	check(o.t, err)
	guest, err := c.DialGuest(o.t.Context(), i, client.Network{RoundDeadline: time.Second})
	if err == nil {
		_, _, err = c.Join(o.t.Context(), i, guest, accountant.Target{Epsilon: 5, Delta: 1e-5})
		guest.Close()
	}
	o.fail(err)
}
