package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
)

// An Unreachable error says that the coordinator cannot be talked to, and why as far as
// this end can see.
type Unreachable struct {
	Address string
	Err     error
}

func (u *Unreachable) Error() string {
	return fmt.Sprintf("cannot reach %s: %v%s", u.Address, reasonFor(u.Err), adviceFor(u.Err))
}

// Unwrap returns what went wrong.
func (u *Unreachable) Unwrap() error { return u.Err }

// reasonFor says in few words what the network said in many.
func reasonFor(err error) string {
	var name *net.DNSError
	var errno syscall.Errno
	var network net.Error
	switch {
	case errors.As(err, &name):
		return "no such host name"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the other end closed the connection"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	}
	return plain(err.Error())
}

func adviceFor(err error) string {
	var name *net.DNSError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name):
		return ": is the address in the invitation right, and does this machine resolve names?"
	case errors.Is(err, syscall.ECONNREFUSED):
		return ": is the coordinator running, and is the port open outward?"
	case errors.As(err, &record):
		return ": something else than a coordinator answers there: is the port right, and is there a proxy between?"
	case alert(err) && strings.HasSuffix(err.Error(), "internal error"):
		return ": the study is not served there: is the address right, and is the study not over?"
	case alert(err):
		return ": the coordinator does not know this client's certificate: is it of this study, not expired, and still in the roster?"
	case !passing(err):
		return ""
	}
	return ": is the network up, and does a firewall let this address and port through?"
}

// alert reports whether the other end refused the handshake.
func alert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && strings.HasPrefix(op.Err.Error(), "tls:")
}

// passing reports whether a fault may be gone at the next try. What TLS says is not: a
// wrong pin stays wrong.
func passing(err error) bool {
	var network net.Error
	switch {
	case alert(err):
		return false
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	}
	var errno syscall.Errno
	return errors.As(err, &errno)
}

// A line is what a client knows of its connection.
type line struct {
	address string
	log     *slog.Logger
	seen    func()

	mu      sync.Mutex
	fault   error // of the last try, nil when a byte came since
	waiting map[int]context.CancelCauseFunc
	next    int
}

func newLine(address string, log *slog.Logger, seen func()) *line {
	if seen == nil {
		seen = func() {}
	}
	return &line{address: address, log: log, seen: seen, waiting: map[int]context.CancelCauseFunc{}}
}

// alive is told that the other end said something.
func (l *line) alive() {
	l.mu.Lock()
	was := l.fault
	l.fault = nil
	l.mu.Unlock()
	if was != nil {
		l.log.Info("the coordinator is there again", "address", l.address)
	}
	l.seen()
}

// failed is told why there is no connection. Calls in waiting end where waiting cannot help.
func (l *line) failed(err error) {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) {
		return // by this end
	}
	fault := &Unreachable{l.address, err}
	l.mu.Lock()
	was := l.fault
	l.fault = fault
	if !passing(err) {
		for _, cancel := range l.waiting {
			cancel(fault)
		}
	}
	l.mu.Unlock()
	if was == nil || was.Error() != fault.Error() {
		l.log.Warn(fault.Error())
	}
}

// last returns why there is no connection, or nil.
func (l *line) last() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// watch returns a context that ends also when waiting for a connection cannot help.
func (l *line) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	id := l.next
	l.next++
	l.waiting[id] = cancel
	l.mu.Unlock()
	return ctx, func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
		cancel(nil)
	}
}
