package audit_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fedpvi/internal/audit"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kept is a sink that stores the events of its lines.
type kept struct {
	mu     sync.Mutex
	events []string
}

func (k *kept) Write(l audit.Line) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := l.Event
	for _, a := range l.Attrs {
		text += " " + a.Value.String()
	}
	k.events = append(k.events, text)
	return nil
}

func (k *kept) Close() error { return nil }

func (k *kept) lines() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.events)
}

func lines(t *testing.T, path string) (all []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	for line := range strings.Lines(string(text)) {
		var object map[string]any
		check(t, json.Unmarshal([]byte(line), &object))
		all = append(all, object)
	}
	return all
}

// A line break in a value must not begin a new line of the log. After the file has been renamed,
// further lines must go to a new file.
func TestFileHasJSONLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	for run := range 2 {
		l, err := audit.Open([]string{path}, audit.Options{})
		check(t, err)
		l.Write(audit.Leave, slog.LevelWarn, slog.String("reason", "a\n{\"event\":\"forged\"}"), slog.Int("run", run))
		check(t, l.Close())
	}
	all := lines(t, path)
	if len(all) != 2 || all[1]["event"] != "leave" || all[1]["run"] != 1.0 || all[0]["level"] != "WARN" {
		t.Errorf("%v", all)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	l, err := audit.Open([]string{path}, audit.Options{})
	check(t, err)
	check(t, os.Rename(path, path+".1"))
	l.Write(audit.Stop, slog.LevelInfo)
	check(t, l.Close())
	if old, next := lines(t, path+".1"), lines(t, path); len(old) != 2 || len(next) != 1 {
		t.Errorf("after a rotation: %v and %v", old, next)
	}
}

// As soon as writing is possible again, lines must be written.
func TestLostLineIsReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	check(t, os.Mkdir(dir, 0o700))
	var errs []error
	l, err := audit.Open([]string{filepath.Join(dir, "a")}, audit.Options{Wrote: func(err error) { errs = append(errs, err) }})
	check(t, err)
	check(t, os.RemoveAll(dir))
	l.Write(audit.Stop, slog.LevelInfo)
	check(t, os.Mkdir(dir, 0o700))
	l.Write(audit.Stop, slog.LevelInfo)
	check(t, l.Close())
	if len(errs) != 2 || errs[0] == nil || errs[1] != nil {
		t.Errorf("%v", errs)
	}
}

func TestDestinations(t *testing.T) {
	for _, d := range []string{"syslog+udp://host", "syslog+tcp://host:1/x", "syslog://host/dev/log", "http://host:4318", "", filepath.Join(t.TempDir(), "no", "file")} {
		if l, err := audit.Open([]string{d}, audit.Options{}); err == nil {
			t.Errorf("%q is a destination", d)
			check(t, l.Close())
		}
	}
	var none *audit.Log
	none.Write(audit.Stop, slog.LevelInfo)
	none.Limited("host", audit.Denial, slog.LevelInfo)
	check(t, none.Close())
}

// Too many lines about one host must not suppress lines about other hosts, until the limit for all
// hosts is reached.
func TestFloodIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{}
		l, err := audit.Open(nil, audit.Options{Others: []audit.Sink{k}})
		check(t, err)
		for range 1000 {
			l.Limited("evil", audit.Handshake, slog.LevelWarn)
		}
		l.Limited("good", audit.Handshake, slog.LevelInfo, slog.String("from", "good"))
		l.Limited("evil", audit.Denial, slog.LevelWarn)
		if got := k.lines(); len(got) != 22 || got[20] != "handshake good" {
			t.Errorf("%d lines: %v", len(got), got)
		}
		for i := range 1000 {
			l.Limited(fmt.Sprint(i), audit.Handshake, slog.LevelWarn)
		}
		l.Write(audit.Verdict, slog.LevelInfo) // no limit
		if got := k.lines(); len(got) != 302 || got[301] != "verdict" {
			t.Errorf("%d lines", len(got))
		}
		time.Sleep(time.Minute) // simulated time
		synctest.Wait()
		if got := k.lines(); len(got) != 303 || got[302] != "omitted handshake 1701" {
			t.Errorf("after a minute: %d lines, %v", len(got), got[302:])
		}
		l.Limited("evil", audit.Handshake, slog.LevelWarn)
		if got := k.lines(); len(got) != 304 {
			t.Errorf("in the next minute: %d lines", len(got))
		}
		check(t, l.Close())
	})
}

// receive returns the address of a syslog server, and a function that returns its next message.
func receive(t *testing.T, network string) (address string, next func() string) {
	t.Helper()
	if network == "tcp" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		t.Cleanup(func() { l.Close() })
		var r *bufio.Reader
		return "syslog+tcp://" + l.Addr().String(), func() string {
			if r == nil {
				c, err := l.Accept()
				check(t, err)
				t.Cleanup(func() { c.Close() })
				r = bufio.NewReader(c)
			}
			var n int
			_, err := fmt.Fscanf(r, "%d ", &n)
			check(t, err)
			b := make([]byte, n)
			for at := 0; at < n; {
				m, err := r.Read(b[at:])
				check(t, err)
				at += m
			}
			return string(b)
		}
	}
	at, prefix := "127.0.0.1:0", "syslog+udp://"
	if network == "unixgram" {
		at, prefix = filepath.Join(t.TempDir(), "log"), "syslog://"
	}
	c, err := net.ListenPacket(network, at)
	check(t, err)
	t.Cleanup(func() { c.Close() })
	return prefix + c.LocalAddr().String(), func() string {
		b := make([]byte, 1<<16)
		n, _, err := c.ReadFrom(b)
		check(t, err)
		return string(b[:n])
	}
}

// The pattern is the grammar of RFC 5424, section 6, without structured data.
var rfc5424 = regexp.MustCompile(`^<(\d{1,3})>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [!-~]{1,255} ([!-~]{1,48}) \d{1,128} ([!-~]{1,32}) - (\{.*\})$`)

func TestSyslogHasTheFormOfRFC5424(t *testing.T) {
	for _, network := range []string{"udp", "unixgram", "tcp"} {
		address, next := receive(t, network)
		var lost []error
		l, err := audit.Open([]string{address}, audit.Options{Program: "fedpvi-test", Wrote: func(err error) {
			if err != nil {
				lost = append(lost, err)
			}
		}})
		check(t, err)
		l.Write(audit.Join, slog.LevelInfo, slog.String("client", "north"))
		l.Write(audit.Denial, slog.LevelWarn)
		for _, want := range [][]string{{"86", "fedpvi-test", "join"}, {"84", "fedpvi-test", "denial"}} { // facility 10
			text := next()
			m := rfc5424.FindStringSubmatch(text)
			if m == nil || !slices.Equal(m[1:4], want) || !json.Valid([]byte(m[4])) {
				t.Errorf("%s: %q", network, text)
			}
		}
		check(t, l.Close())
		if len(lost) > 0 {
			t.Errorf("%s: %v", network, lost)
		}
	}
}

// A server that hangs must not delay any line. Lines for which the queue has no room must be
// reported as lost.
func TestSyslogThatHangsDelaysNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	var mu sync.Mutex
	lost := 0
	log, err := audit.Open([]string{"syslog+tcp://" + l.Addr().String()}, audit.Options{Wrote: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			lost++
		}
	}})
	check(t, err)
	long := slog.String("x", strings.Repeat("x", 1<<15))
	for range 1400 {
		log.Write(audit.Denial, slog.LevelWarn, long) // fill the buffers of the connection
	}
	mu.Lock()
	if lost < 10 {
		t.Errorf("%d lines are reported as lost", lost)
	}
	mu.Unlock()
	c, err := l.Accept()
	check(t, err)
	c.Close()
	check(t, l.Close())
	check(t, log.Close())
}
