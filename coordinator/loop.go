package coordinator

import (
	"context"
	"errors"
	"io"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// maxBatch is the maximum number of commands in one transaction.
const maxBatch = 256

// A command is a function that the study's loop runs for a caller. The caller gets its error after
// the batch is on disk. A command that fails must leave the state unchanged, or call [batch.undo].
type command struct {
	do   func(*batch) error
	done chan error
}

// call makes the study's loop run do, and returns the error. It also fails if the changes could not
// be written, if ctx is done before the loop runs do, or if the study stops.
func (s *Study) call(ctx context.Context, do func(*batch) error) error {
	c := &command{do, make(chan error, 1)}
	select {
	case s.commands <- c:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		return errStopped
	}
	select {
	case err := <-c.done:
		return err
	case <-s.stopped:
	}
	select { // the result may have arrived before the study stopped
	case err := <-c.done:
		return err
	default:
		return errStopped
	}
}

// run is the study's loop. Only this goroutine changes the state.
func (s *Study) run(ctx context.Context) {
	defer close(s.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var commands []*command
		select {
		case <-ctx.Done():
			return
		case c := <-s.commands:
			commands = s.gather(c)
		case <-s.presence.news:
		case <-timer.C:
		}
		s.carryOut(commands)
		timer.Reset(s.untilNext())
	}
}

// gather returns the first command and others that are already waiting, at most maxBatch in total.
func (s *Study) gather(first *command) []*command {
	commands := []*command{first}
	for len(commands) < maxBatch {
		select {
		case c := <-s.commands:
			commands = append(commands, c)
		default:
			return commands
		}
	}
	return commands
}

// carryOut runs the commands, begins and ends the rounds that are due, and writes all changes in
// one transaction. If the transaction fails, it reads the state from the store again.
func (s *Study) carryOut(commands []*command) {
	if s.broken {
		if s.restore(); s.broken {
			answer(commands, nil, errStore)
			return
		}
		s.log.Info("the state was read again from the disk")
	}
	b := &batch{study: s, state: s.st, now: s.hub.options.Now()}
	errs := make([]error, len(commands))
	for i, c := range commands {
		errs[i] = c.do(b)
	}
	err := b.failed
	if err == nil {
		err = b.advance()
	}
	if err == nil && len(b.writes) > 0 {
		err = s.hub.options.traced("transaction", func() error { return s.commit(b) })
		s.events.Stored(len(commands), err == nil)
		s.unwritten = err
	}
	if s.failed = err != nil; s.failed {
		s.log.Error("a write failed, and the changes were undone: check the disk, the write is tried again", "error", err)
		s.restore()
		answer(commands, errs, errStore)
		return
	}
	s.publish(b)
	answer(commands, errs, nil)
}

// answer sends each command its own error or, if the command succeeded, err.
func answer(commands []*command, errs []error, err error) {
	for i, c := range commands {
		if errs != nil && errs[i] != nil {
			c.done <- errs[i]
			continue
		}
		c.done <- err
	}
}

func (s *Study) commit(b *batch) error {
	return s.hub.store.UpdateStudy(s.hash, func(kept store.Study) error {
		for _, write := range b.writes {
			if err := write(kept); err != nil {
				return err
			}
		}
		return kept.PutNote(noteSince, s.st.since)
	})
}

// restore reads the state from the store again, because after a failure the state in memory may be
// different.
func (s *Study) restore() {
	if err := s.reload(); err != nil {
		s.log.Error("the state cannot be read", "error", err)
	}
}

// publish shows callers the new entries and the new state, once the transaction is on disk. If the
// study is over, it also destroys the key that decrypts answers.
func (s *Study) publish(b *batch) {
	for _, i := range b.items {
		s.cache.put(i.number, i.item)
	}
	if b.shows || len(b.items) > 0 {
		s.show()
	}
	for _, tell := range b.after {
		tell()
	}
	if s.st.over() && len(b.items) > 0 {
		s.opener.forget()
		if err := s.hub.files.destroySealing(s.hash, ""); err != nil {
			s.log.Error("cannot destroy the key that opens answers: remove the file", "error", err)
		}
	}
}

// retry is how long the loop waits after a failure.
const retry = time.Second

// untilNext returns how long the loop sleeps if no command arrives. It sleeps until the next
// deadline, but for at most an hour. After a failure, it sleeps for the time retry.
func (s *Study) untilNext() time.Duration {
	if s.broken || s.failed {
		return retry
	}
	next := time.Hour
	now := s.hub.options.Now()
	for _, q := range s.st.open {
		next = min(next, q.deadline.Sub(now))
	}
	return max(next, 0)
}

// A batch has the commands that the loop carries out in one transaction, and their changes.
type batch struct {
	study  *Study
	state  *state
	now    time.Time
	writes []func(store.Study) error
	items  []numbered // new entries of the transcript
	after  []func()   // functions to call once the transaction is on disk
	// whether callers can see a change in the study other than new entries
	shows     bool
	lastEntry transcript.Entry // last entry that signEntry has appended
	moved     bool             // whether the state of the study's algorithm has changed
	// failure of this machine, such as a failed write; the batch then writes nothing
	failed error

	receipts []transcript.Receipt // receipts of the answers that the batch accepts
}

type numbered struct {
	number uint64
	item   transport.Item
}

// undo makes the whole batch fail with err, so that the state is read from the store again. A
// command calls undo if it leaves an inconsistent state in memory.
func (b *batch) undo(err error) error {
	b.failed = errors.Join(b.failed, err)
	return errStore
}

func (b *batch) write(f func(store.Study) error) { b.writes = append(b.writes, f) }

func (b *batch) then(f func()) { b.after = append(b.after, f) }

// signEntry signs the next transcript entry and appends it. The function write writes the body.
func (b *batch) signEntry(kind transcript.Kind, ask uint64, model Hash, write func(io.Writer) error) error {
	s, chain := b.study, &b.state.chain
	body, err := s.hub.store.Prepare(s.hash, write)
	if err != nil {
		return err
	}
	hashed := transcript.Body{Size: uint64(body.Size), Hash: body.Hash}
	envelope, err := chain.SignHashed(b.state.who, kind, ask, model, hashed)
	if err != nil {
		return err
	}
	next, e, err := chain.FollowHashed(envelope, hashed)
	if err != nil {
		return err
	}
	b.append(next, e, envelope, body)
	b.lastEntry = e
	return nil
}

// append appends an entry to the transcript. chain is the chain with the entry.
func (b *batch) append(chain transcript.Chain, e transcript.Entry, envelope []byte, body *store.Value) {
	b.state.chain = chain
	b.items = append(b.items, numbered{e.Number, b.study.newItem(e, envelope, body)})
	var plan uint64
	if e.Kind.Plan() {
		plan = e.Ask
	}
	b.write(func(kept store.Study) error { return kept.Append(e.Number, envelope, body, plan) })
}

func bytesOf(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}
