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

// An effort is a method call by a client, including all retries.
type effort struct {
	client   *Client
	ctx      context.Context // context of all tries
	cancel   func()
	tries    int // number of tries since the last progress
	patience time.Duration
	timer    *time.Timer
}

// begin starts an effort, which is a method call with all its retries. The effort's context ends
// when ctx is done, when the client is closed, or when the connection fails for good. It also ends
// if there was no progress for the time patience, unless patience is 0.
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

// try calls f until f succeeds, makes no progress for too long, or returns an error that another call
// cannot mend.
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

// moved records that the call made progress. It restarts the time limit and the count of tries.
func (e *effort) moved() {
	e.tries = 0
	e.sent()
}

// sent restarts the time limit after bytes were sent. It does not reset the number of tries,
// because the bytes may not have arrived.
func (e *effort) sent() {
	if e.timer != nil {
		e.timer.Reset(e.patience)
	}
}

// failed decides, after a failed try, whether the caller should try again. If so, it waits and
// returns nil. Otherwise it returns the error that the caller should return.
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

// judge reports whether a failed call should be tried again. If it should not, final is the error
// to return.
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

// agreeAgain negotiates the protocol version again, because the coordinator may have been updated.
// If again is true, the caller should repeat the call. Otherwise final is the error to return.
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

// gaveUp returns the error of a method call whose context has ended. The error contains the cause
// in the context, the last network error, or both.
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

// A Breach is a violation of the protocol by a coordinator. Another try does not help, because the
// coordinator runs another program, is damaged, or is hostile.
type Breach struct {
	Address string
	Text    string
}

func (b *Breach) Error() string {
	return fmt.Sprintf("the coordinator at %s violates the protocol: %s", b.Address, b.Text)
}

// breach converts the refusal of a message of the coordinator to a Breach. It returns any other
// error unchanged.
func (c *Client) breach(err error) error {
	var complaint *Refusal
	if errors.As(err, &complaint) {
		return &Breach{c.config.Address, complaint.Text}
	}
	return err
}
