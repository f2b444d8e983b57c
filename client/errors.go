package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fedpvi/accountant"
	"fedpvi/client/ledger"
	"fedpvi/coordinator/bundle"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/transport"
)

// These are the exit codes, which are the same in every version of the program. See
// docs/use/exit-codes.md.
const (
	OK          = 0
	Failed      = 1   // any other error; the message gives the reason
	Usage       = 2   // the command line or a file cannot be used
	Declined    = 3   // refused by the policy, the study's rules or the coordinator
	OverBudget  = 4   // the study costs more than the remaining privacy budget
	Damaged     = 5   // the state is damaged, or is older than a message that this client has sent
	Unreachable = 6   // the coordinator cannot be reached
	Fruitless   = 7   // several answers in a row were charged without success (see [Failing] and [Stalled])
	Interrupted = 130 // stopped by a signal
)

// A Refusal is the error for an action that the policy, the study or the coordinator does not
// allow, and for a message that breaks the rules of the study. The Reason is meant for the data
// holder. The state is as it was before the action.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// A UsageError is an error in user input.
type UsageError struct{ Err error }

func (u *UsageError) Error() string { return u.Err.Error() }

func (u *UsageError) Unwrap() error { return u.Err }

// RolledBack is the error for a ledger that does not have the charge of an answer that was already
// sent, for example because the ledger was restored from a backup.
type RolledBack struct{ Problem string }

func (r *RolledBack) Error() string {
	return "this state directory is older than the answers sent from it, or a copy of it is in use elsewhere: " + r.Problem +
		". Do not use it again. Replace it by the newest state directory. If that is lost, " +
		"the whole budget of its data sets is spent: see docs/use/exit-codes.md, code 5"
}

// Failing is the error of a client that stops because it could not compute several answers in a
// row, which were all charged.
type Failing struct {
	Failures int // number of consecutive failures
	Last     error
}

func (f *Failing) Error() string {
	return fmt.Sprintf("%d answers in a row could not be computed. Each was charged, because its noise had been drawn. "+
		"The client stops before it spends more for nothing. The last error: %v. Every further run "+
		"tries to answer one more plan: see docs/use/exit-codes.md, code 7", f.Failures, f.Last)
}

// Unwrap returns the error of the last answer that failed.
func (f *Failing) Unwrap() error { return f.Last }

// Stalled is the error of a client that stops because too many rounds in a row were rejected,
// although they were charged. A coordinator that follows the rules would have stopped the study.
type Stalled struct{ Why string }

func (s *Stalled) Error() string {
	return s.Why + ". The client answers no more plans of this study: see docs/use/exit-codes.md, code 7"
}

// CodeOf returns the exit code for an error.
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

// codes lists the errors and their exit codes. The most serious error comes first.
var codes = []struct {
	code int
	kind func(error) bool
}{
	{Damaged, func(err error) bool {
		return as[*ledger.Damaged](err) || as[*ledger.Fault](err) || as[*RolledBack](err) || errors.Is(err, keyfile.ErrDamaged)
	}},
	{OverBudget, as[*accountant.BudgetError]},
	{Fruitless, func(err error) bool { return as[*Failing](err) || as[*Stalled](err) }},
	{Declined, func(err error) bool {
		return as[*Refusal](err) || as[*pvi.Refused](err) || as[*ledger.Refused](err) ||
			as[*sums.Refused](err) || as[*transcript.Fork](err) || as[*bundle.Fault](err) || as[*transport.Refusal](err) || as[*transport.Breach](err) || as[*transport.Impostor](err) || isForged(err)
	}},
	{Usage, func(err error) bool {
		return as[*UsageError](err) || errors.Is(err, ledger.ErrNothing) || errors.Is(err, keyfile.ErrLocked)
	}},
	{Unreachable, as[*transport.Unreachable]},
	{Interrupted, func(err error) bool { return errors.Is(err, context.Canceled) }},
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// isForged reports whether a transcript entry or its signature is invalid.
func isForged(err error) bool {
	return slices.ContainsFunc([]error{
		roster.ErrForm, roster.ErrConsent, roster.ErrParty, roster.ErrChange,
		transcript.ErrOrder, transcript.ErrKind, transcript.ErrOver, transcript.ErrBody, transcript.ErrRoster, transcript.ErrForm,
		signed.ErrForm, signed.ErrVersion, signed.ErrDomain, signed.ErrSender, signed.ErrSignature,
		signed.ErrStudy, signed.ErrProtocol, signed.ErrRound, signed.ErrModel, signed.ErrRoster,
	}, func(e error) bool { return errors.Is(err, e) })
}
