package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"

	"fedpvi/crypto/channel"
)

// An Unreachable is the error for a coordinator that cannot be reached. Err is the error of the
// connection.
type Unreachable struct {
	Address string
	Err     error
}

func (u *Unreachable) Error() string {
	return fmt.Sprintf("cannot reach %s: %v%s", u.Address, reasonFor(u.Err), adviceFor(u.Err))
}

// Unwrap returns Err.
func (u *Unreachable) Unwrap() error { return u.Err }

// An Impostor is the error if the program at the coordinator's address does not have the identity
// of the study's coordinator. It may be another program, or a coordinator with a new key. Trying
// again does not help. Err is the error of the TLS handshake.
type Impostor struct {
	Address string
	Err     error
}

func (i *Impostor) Error() string {
	return fmt.Sprintf("%s is not the coordinator of this study: %s. Nothing was sent. Check the address, and ask the coordinator's people, by telephone or in person, whether their key was changed", i.Address, plain(i.Err.Error()))
}

// Unwrap returns Err.
func (i *Impostor) Unwrap() error { return i.Err }

// foreign reports whether a TLS handshake has reached a server that does not have the identity of
// the study's coordinator.
func foreign(err error) bool {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.Is(err, channel.ErrPin) || errors.Is(err, channel.ErrRole) || errors.As(err, &authority) || errors.As(err, &name)
}

// Mistrusted reports whether err means that one side, the client or the coordinator, did not accept
// the other's certificate or key.
func Mistrusted(err error) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(all.Unwrap(), Mistrusted)
	}
	var impostor *Impostor
	var u *Unreachable
	return errors.As(err, &impostor) || errors.As(err, &u) && alert(u.Err)
}

// reasonFor describes a network error in a few words.
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
		return ": check the address in the invitation, and that this machine resolves names"
	case errors.Is(err, syscall.ECONNREFUSED):
		return ": check that the coordinator is running, and that the port is open for outgoing connections"
	case errors.As(err, &record):
		return ": another program answers there; check the port, and whether there is a proxy in between"
	case alert(err) && strings.HasSuffix(err.Error(), "internal error"):
		return ": the study is not served there; check the address, and whether the study is over"
	case alert(err):
		return ": the coordinator does not accept this client's certificate; check that it is of this study, not expired, and in the roster"
	case !passing(err):
		return ""
	}
	return ": check the network, and that the firewall lets this address and port through"
}

// alert reports whether err means that the other side refused the TLS handshake.
func alert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && strings.HasPrefix(op.Err.Error(), "tls:")
}

// passing reports whether err is temporary. A network error is, but an error of the TLS handshake
// itself, such as a wrong certificate, is not.
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

// A line knows whether a client's connection works, and which calls are waiting for it.
type line struct {
	address string
	log     *slog.Logger
	tried   func(address string, err error) // called after each attempt to connect, unless nil

	mu      sync.Mutex
	fault   error // error of the last connection; nil once a byte has arrived
	waiting map[int]context.CancelCauseFunc
	next    int
}

func newLine(address string, log *slog.Logger) *line {
	return &line{address: address, log: log, waiting: map[int]context.CancelCauseFunc{}}
}

// alive records that bytes have arrived, so the connection works.
func (l *line) alive() {
	l.mu.Lock()
	was := l.fault
	l.fault = nil
	l.mu.Unlock()
	if was != nil {
		l.log.Info("the coordinator is reachable again", "address", l.address)
	}
}

// report passes the result of an attempt to connect to l.tried, unless that is nil.
func (l *line) report(err error) {
	if l.tried != nil {
		l.tried(l.address, l.faultOf(err))
	}
}

// faultOf converts a connection error to an [*Impostor] or an [*Unreachable]. If there is no error,
// it returns nil.
func (l *line) faultOf(err error) error {
	if err == nil {
		return nil
	}
	if foreign(err) {
		return &Impostor{l.address, err}
	}
	return &Unreachable{l.address, err}
}

// failed records a connection error. If the error is not temporary, failed also ends the calls that
// are waiting for the connection.
func (l *line) failed(err error) {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) {
		return // not a failure, because this side has closed the connection
	}
	fault := l.faultOf(err)
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

// last returns the error of the last connection. If bytes have arrived since, it returns nil.
func (l *line) last() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// watch registers a call that needs the connection. The returned context ends when ctx does, or
// when it becomes clear that the client will never connect. The caller must call the returned
// function when the call ends.
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
