package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	errPatience = errors.New("gave up: no progress for too long")
	errClosed   = errors.New("the client was closed")
)

// An effort is a client's method call with all its retries.
type effort struct {
	client   *Client
	ctx      context.Context // context of all attempts
	cancel   func()
	tries    int // number of attempts since the last progress
	patience time.Duration
	timer    *time.Timer
}

// begin starts an effort, which is a method call with all its retries. The effort's context ends
// when ctx is done, when the client is closed, when the connection fails for good, or when there
// was no progress for the time patience. If patience is 0, there is no time limit.
func (c *Client) begin(ctx context.Context, patience time.Duration) *effort {
	ctx, done := c.line.watch(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(c.life, func() { cancel(errClosed) })
	e := &effort{client: c, ctx: ctx, patience: patience}
	e.cancel = func() { forget(); cancel(nil); done() }
	if patience > 0 {
		e.timer = time.AfterFunc(patience, func() { cancel(errPatience) })
	}
	if c.line.last() != nil {
		c.conn.ResetConnectBackoff()
	}
	return e
}

// try calls f until it succeeds, fails for good, or makes no progress for too long.
func (c *Client) try(ctx context.Context, method string, f func(*effort) error) error {
	e := c.begin(ctx, c.timing.patience)
	defer e.end()
	for {
		err := f(e)
		c.observer.Called(method, outcome(err))
		if err == nil {
			return nil
		}
		if err := e.failed(err); err != nil {
			return err
		}
	}
}

func (e *effort) end() {
	if e.timer != nil {
		e.timer.Stop()
	}
	e.cancel()
}

// moved records progress. It restarts the time limit and sets the number of attempts to zero.
func (e *effort) moved() {
	e.tries = 0
	e.sent()
}

// sent restarts the time limit. It does not change the number of attempts, because the bytes may
// not have arrived.
func (e *effort) sent() {
	if e.timer != nil {
		e.timer.Reset(e.patience)
	}
}

// failed is called after an attempt has failed. If the caller should try again, failed waits and
// then returns nil. Otherwise it returns the error for the caller.
func (e *effort) failed(err error) error {
	if e.ctx.Err() != nil {
		return e.client.gaveUp(e.ctx)
	}
	again, final := e.judge(err)
	if !again {
		return final
	}
	e.tries++
	if rest(e.ctx, e.client.timing.pause(e.tries)) != nil {
		return e.client.gaveUp(e.ctx)
	}
	return nil
}

// judge decides whether a failed call should be tried again. If not, it returns the final error.
func (e *effort) judge(err error) (again bool, final error) {
	var breach *Breach
	if errors.As(err, &breach) {
		return false, breach
	}
	if refusal := refusalIn(err); refusal != nil && refusal.Reason == Version {
		return e.agreeAgain()
	} else if refusal != nil {
		return refusal.Reason == Unavailable, refusal
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true, nil
	case codes.Internal:
		return false, fmt.Errorf("%s: %s", e.client.config.Address, plain(status.Convert(err).Message()))
	}
	return false, fmt.Errorf("%s: %w", e.client.config.Address, err)
}

// agreeAgain agrees on a protocol version again, because the coordinator may have been updated. It
// reports whether the call should be repeated. If not, it returns the final error.
func (e *effort) agreeAgain() (again bool, final error) {
	hello := e.client.once(e.ctx, e.client.agree)
	var breach *Breach
	if errors.As(hello, &breach) {
		return false, breach
	}
	if refusal := refusalIn(hello); refusal != nil {
		return false, refusal
	}
	return true, nil
}

// gaveUp returns the error of a call whose context has ended. This is the cause of the context, the
// last network error, or both.
func (c *Client) gaveUp(ctx context.Context) error {
	cause := context.Cause(ctx)
	var fatal *Unreachable
	var impostor *Impostor
	switch {
	case c.life.Err() != nil:
		return errClosed
	case errors.As(cause, &impostor):
		return impostor
	case errors.As(cause, &fatal):
		return fatal
	}
	if fault := c.line.last(); fault != nil {
		return fmt.Errorf("%w (%w)", fault, cause)
	}
	return fmt.Errorf("waiting for an answer of %s: %w", c.config.Address, cause)
}

// A Breach is a violation of the protocol by the coordinator, which may run another program, be
// damaged, or be hostile. Trying again does not help.
type Breach struct {
	Address string
	Text    string
}

func (b *Breach) Error() string {
	return fmt.Sprintf("the coordinator at %s violates the protocol: %s", b.Address, b.Text)
}

// breach converts an error that refuses a message from the coordinator to a Breach. It returns
// other errors unchanged.
func (c *Client) breach(err error) error {
	var complaint *Refusal
	if errors.As(err, &complaint) {
		return &Breach{c.config.Address, complaint.Text}
	}
	return err
}
