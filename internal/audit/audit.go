// Package audit writes an audit log: it records connections, joins, refusals, orders, the ends of
// rounds, and how the program is configured. The lines go to files as JSON, to syslog (RFC 5424),
// or to another [Sink]. No line depends on records.
package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"
)

// These are the names of the events in an audit log.
const (
	Configuration = "configuration" // a program started, with its configuration
	Stop          = "stop"          // a program stopped
	Handshake     = "handshake"     // a machine connected; the line has its address and the result of the TLS handshake
	Denial        = "denial"        // a call was refused because of who made it or of its format
	Join          = "join"          // a client redeemed an invitation
	Consent       = "consent"       // a client consented to the study
	Leave         = "leave"         // a client left the study
	Keys          = "keys"          // a client got new keys
	Roster        = "roster"        // the roster got a new version
	Order         = "order"         // a user of this machine gave an order
	OrderFailed   = "order-failed"  // a user's order was refused or failed
	Study         = "study"         // a study began, ended, or was aborted
	Verdict       = "verdict"       // a round ended, with its result
	Answer        = "answer"        // a client is about to send an answer, with its charge
	Exclusion     = "exclusion"     // the coordinator has excluded a client
	Omitted       = "omitted"       // lines were left out, because one event may only have a certain number of lines per minute
)

// A Line is one line of an audit log.
type Line struct {
	Time  time.Time
	Event string
	Level slog.Level
	Attrs []slog.Attr
}

// A Sink is a destination of an audit log. It is safe for concurrent use.
type Sink interface {
	// Write writes a line. It must not wait for another machine.
	Write(l Line) error
	// Close writes the lines that are still waiting and closes the sink, which takes at most a few
	// seconds.
	Close() error
}

// Options configure [Open].
type Options struct {
	Program string // name of the program, for syslog
	// Wrote, unless nil, is called after each attempt to write a line to a sink. Its argument is
	// the error or nil. Calls may be concurrent.
	Wrote func(error)
	// Others are further sinks.
	Others []Sink
}

// A Log is an audit log. A nil Log discards all lines. It is safe for concurrent use.
type Log struct {
	sinks   []Sink
	wrote   func(error)
	limiter limiter
}

// Open opens an audit log with the given destinations. A destination is the path of a file, or the
// address of a syslog server: syslog:///dev/log for a socket on this machine, and
// syslog+udp://host:514 or syslog+tcp://host:514 for another machine.
func Open(destinations []string, o Options) (*Log, error) {
	l := &Log{wrote: o.Wrote, sinks: o.Others}
	if l.wrote == nil {
		l.wrote = func(error) {}
	}
	l.limiter.report = func(event string, n int) {
		l.Write(Omitted, slog.LevelWarn, slog.String("of", event), slog.Int("lines", n))
	}
	for _, d := range destinations {
		s, err := open(d, o.Program, l.wrote)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("audit log %s: %w", d, err), l.Close())
		}
		l.sinks = append(l.sinks, s)
	}
	return l, nil
}

func open(destination, program string, wrote func(error)) (Sink, error) {
	u, err := url.Parse(destination)
	if err != nil || u.Scheme == "" {
		return openFile(destination)
	}
	switch {
	case u.Scheme == "syslog" && u.Host == "" && u.Path != "":
		return openSyslog("unixgram", u.Path, program, wrote), nil
	case u.Scheme == "syslog+udp" && u.Port() != "" && u.Path == "":
		return openSyslog("udp", u.Host, program, wrote), nil
	case u.Scheme == "syslog+tcp" && u.Port() != "" && u.Path == "":
		return openSyslog("tcp", u.Host, program, wrote), nil
	}
	return nil, errors.New("give the path of a file, syslog:///dev/log, syslog+udp://host:514, or syslog+tcp://host:514")
}

// Write writes a line.
func (l *Log) Write(event string, level slog.Level, attrs ...slog.Attr) {
	if l == nil {
		return
	}
	line := Line{time.Now(), event, level, attrs}
	for _, s := range l.sinks {
		l.wrote(s.Write(line))
	}
}

// Limited writes a line about host, another machine. The number of lines per event and minute is
// limited, for each host and for all hosts together. Further lines are only counted, and the event
// Omitted reports their number.
func (l *Log) Limited(host, event string, level slog.Level, attrs ...slog.Attr) {
	if l != nil && l.limiter.admit(host, event) {
		l.Write(event, level, attrs...)
	}
}

// Begin writes a user's order to the audit log before the program carries it out. giver is the
// result of [User]. Afterwards, the caller must call end with the order's error, or nil. end logs
// the error, if any, and returns it.
func (l *Log) Begin(giver []slog.Attr, order string, attrs ...slog.Attr) (end func(error) error) {
	all := append(giver, slog.String("order", order))
	for _, attr := range attrs {
		if attr.Value.String() != "" {
			all = append(all, attr)
		}
	}
	l.Write(Order, slog.LevelInfo, all...)
	return func(err error) error {
		if err != nil {
			l.Write(OrderFailed, slog.LevelWarn, append(all, slog.String("error", err.Error()))...)
		}
		return err
	}
}

// Close reports how many lines were left out, and closes all sinks.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.limiter.end()
	var err error
	for _, s := range l.sinks {
		err = errors.Join(err, s.Close())
	}
	return err
}

// JSON returns the line as a JSON object without line breaks. The object begins with the time in
// UTC, the level and the event.
func (l Line) JSON() ([]byte, error) {
	var b bytes.Buffer
	h := slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.MessageKey {
			a.Key = "event"
		}
		return a
	}})
	r := slog.NewRecord(l.Time.UTC(), l.Level, l.Event, 0)
	r.AddAttrs(l.Attrs...)
	err := h.Handle(context.Background(), r)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

const (
	window     = time.Minute // period over which a limiter counts lines
	maxPerHost = 20          // maximum number of lines in a window for one event and one host
	maxLines   = 300         // maximum number of lines in a window for one event and all hosts together
)

// A limiter decides which lines are written. It counts lines in windows that last a minute. A
// window begins with the first line after the end of the previous one.
type limiter struct {
	report func(event string, omitted int)

	mu     sync.Mutex
	events map[string]*counts // nil between windows
	timer  *time.Timer
}

// counts holds the number of lines that one event has had in a window.
type counts struct {
	written, omitted int
	hosts            map[string]int
}

func (l *limiter) admit(host, event string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events == nil {
		l.events = map[string]*counts{}
		l.timer = time.AfterFunc(window, l.end)
	}
	c := l.events[event]
	if c == nil {
		c = &counts{hosts: map[string]int{}}
		l.events[event] = c
	}
	if c.written >= maxLines || c.hosts[host] >= maxPerHost {
		c.omitted++
		return false
	}
	c.written++
	c.hosts[host]++
	return true
}

// end ends the window and reports how many lines were left out.
func (l *limiter) end() {
	l.mu.Lock()
	events := l.events
	l.events = nil
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	for event, c := range events {
		if c.omitted > 0 {
			l.report(event, c.omitted)
		}
	}
}
