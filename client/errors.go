package client

import (
	"context"
	"errors"
	"fmt"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/transport"
)

// Exit codes, the same in every version. See docs/use/exit-codes.md.
const (
	OK          = 0
	Failed      = 1   // something went wrong; the message says what
	Usage       = 2   // the command line or a file is not as it should be
	Declined    = 3   // by policy, by the rules of the study, or by the coordinator
	OverBudget  = 4   // the privacy budget of the data set has no room
	Damaged     = 5   // the state is not whole, or older than what was sent from it
	Unreachable = 6   // the coordinator cannot be talked to
	Fruitless   = 7   // answers are paid for and cannot be computed
	Interrupted = 130 // by a signal
)

// A Refusal says what is not allowed, and what would allow it. The state is as it was.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// A UsageError says that what the user wrote cannot be used.
type UsageError struct{ Err error }

func (u *UsageError) Error() string { return u.Err.Error() }

func (u *UsageError) Unwrap() error { return u.Err }

// RolledBack says that answers were sent that this ledger does not know.
type RolledBack struct{ Problem string }

func (r *RolledBack) Error() string {
	return "this state directory is older than what was sent from it, or a copy of it is in use elsewhere: " + r.Problem +
		". It must not be used again. Put the newest state directory in its place; if that is lost, " +
		"the whole budget of its data sets is spent: see docs/use/exit-codes.md, code 5"
}

// Failing says that answers are paid for and cannot be computed, one after the other.
type Failing struct {
	Failures int // in a row
	Last     error
}

func (f *Failing) Error() string {
	return fmt.Sprintf("%d answers in a row could not be computed, and each was charged, since its noise was drawn: "+
		"the client stops before more is spent for nothing. The last failed with: %v. Every run from now on "+
		"tries one more question: see docs/use/exit-codes.md, code 7", f.Failures, f.Last)
}

// Unwrap returns why the last one failed.
func (f *Failing) Unwrap() error { return f.Last }

// CodeOf returns the exit code of an error.
func CodeOf(err error) int {
	if err == nil {
		return OK
	}
	for _, is := range codes {
		if is.kind(err) {
			return is.code
		}
	}
	return Failed
}

// codes are tried in order: what is wrong here comes before what is wrong elsewhere.
var codes = []struct {
	code int
	kind func(error) bool
}{
	{Damaged, func(err error) bool {
		return as[*ledger.Damaged](err) || as[*ledger.Fault](err) || as[*RolledBack](err)
	}},
	{OverBudget, as[*accountant.BudgetError]},
	{Fruitless, as[*Failing]},
	{Declined, func(err error) bool {
		return as[*Refusal](err) || as[*pvi.Refused](err) || as[*ledger.Refused](err) ||
			as[*transport.Refusal](err) || as[*transport.Breach](err) || isForged(err)
	}},
	{Usage, func(err error) bool { return as[*UsageError](err) || errors.Is(err, ledger.ErrNothing) }},
	{Unreachable, as[*transport.Unreachable]},
	{Interrupted, func(err error) bool { return errors.Is(err, context.Canceled) }},
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// isForged reports whether something that the coordinator said cannot be followed.
func isForged(err error) bool {
	for _, e := range []error{
		transcript.ErrOrder, transcript.ErrKind, transcript.ErrOver, transcript.ErrBody, transcript.ErrRoster, transcript.ErrForm,
		signed.ErrForm, signed.ErrVersion, signed.ErrDomain, signed.ErrSender, signed.ErrSignature,
		signed.ErrStudy, signed.ErrProtocol, signed.ErrRound, signed.ErrModel, signed.ErrRoster,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
