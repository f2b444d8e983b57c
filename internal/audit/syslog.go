package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"
)

const (
	queued = 1024 // maximum number of lines waiting to be sent
	// time limit for connecting, for writing a line, and for sending the waiting lines at the end
	patience = 5 * time.Second
	between  = time.Second // time between two attempts to reach a syslog over TCP
	facility = 10          // security and authorisation messages, private (RFC 5424, table 1)
)

var errQueue = errors.New("the syslog does not take lines fast enough: a line of the audit log was lost")

// A syslog is a sink that sends lines to a syslog server in the format of RFC 5424. It sends them
// in a goroutine, so that the program does not stop if the server hangs.
type syslog struct {
	network, address string
	host, program    string
	wrote            func(error)
	lines            chan Line
	ending           chan struct{} // closed when the sink is closed
	ended            chan struct{} // closed when the goroutine has returned
	conn             net.Conn      // nil if there is no connection
}

func openSyslog(network, address, program string, wrote func(error)) *syslog {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "-"
	}
	s := &syslog{
		network: network, address: address, host: host, program: program, wrote: wrote,
		lines: make(chan Line, queued), ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go s.run()
	return s
}

// Write implements [Sink]. It returns an error if too many lines are waiting.
func (s *syslog) Write(l Line) error {
	select {
	case s.lines <- l:
		return nil
	default:
		return errQueue
	}
}

// Close implements [Sink].
func (s *syslog) Close() error {
	close(s.ending)
	<-s.ended
	return nil
}

// run sends lines until the sink is closed. Then it spends a few seconds on sending the lines that
// are still waiting.
func (s *syslog) run() {
	defer close(s.ended)
	defer func() {
		if s.conn != nil {
			s.conn.Close()
		}
	}()
	for {
		select {
		case l := <-s.lines:
			s.send(l)
		case <-s.ending:
			for until := time.Now().Add(patience); len(s.lines) > 0 && time.Now().Before(until); {
				s.send(<-s.lines)
			}
			return
		}
	}
}

// send tries to send a line: twice or, over TCP, until it succeeds or the sink is closed. It reports a line that it could not send to s.wrote.
func (s *syslog) send(l Line) {
	text, err := s.format(l)
	for attempt := 0; err == nil; attempt++ {
		failed := s.write(text)
		if failed == nil {
			return
		}
		if attempt > 0 && !s.mayWait() {
			err = failed
		}
	}
	s.wrote(fmt.Errorf("syslog %s: %w", s.address, err))
}

// mayWait waits a moment before another attempt. It returns false if the sink is being closed, or
// if the network is not TCP, because other networks do not show when the server can be reached
// again.
func (s *syslog) mayWait() bool {
	if s.network != "tcp" {
		return false
	}
	select {
	case <-time.After(between):
		return true
	case <-s.ending:
		return false
	}
}

func (s *syslog) write(text []byte) (err error) {
	if s.conn == nil {
		if s.conn, err = net.DialTimeout(s.network, s.address, patience); err != nil {
			return err
		}
	}
	if err = s.conn.SetWriteDeadline(time.Now().Add(patience)); err == nil {
		_, err = s.conn.Write(text)
	}
	if err != nil {
		s.conn.Close()
		s.conn = nil
	}
	return err
}

// format formats a line as RFC 5424 requires. Over TCP, the length of the line comes first (RFC
// 6587, section 3.4.1).
func (s *syslog) format(l Line) ([]byte, error) {
	object, err := l.JSON()
	if err != nil {
		return nil, err
	}
	text := fmt.Appendf(nil, "<%d>1 %s %s %s %d %s - %s", facility*8+severity(l.Level),
		l.Time.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), s.host, s.program, os.Getpid(), l.Event, object)
	if s.network == "tcp" {
		text = append(fmt.Appendf(nil, "%d ", len(text)), text...)
	}
	return text, nil
}

// severity returns the severity for a level, as in RFC 5424, table 2.
func severity(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	}
	return 6
}
