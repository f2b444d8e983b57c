package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"fedpvi/client/ledger"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/gpu/device"
	"fedpvi/internal/audit"
	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/transport"
)

// A Link is a connection to a study's coordinator. [transport.Client] implements it.
type Link interface {
	Standing(ctx context.Context) (transport.Standing, error)
	Approve(ctx context.Context, envelope []byte) error
	Entry(ctx context.Context, number uint64) (transport.Item, error)
	// Whole returns an entry with its body. Entry may leave out a body that the client can compute
	// from earlier entries.
	Whole(ctx context.Context, number uint64) (transport.Item, error)
	// Submit sends a message that has a body. The message is an answer or, with secure aggregation,
	// a deal, a share, or the keys for the other clients.
	Submit(ctx context.Context, item transport.Item) error
	// PairKeys returns the parts of the dealers' key messages that are meant for this client, one
	// after the other, size bytes in total. dealers are places in the roster.
	PairKeys(ctx context.Context, dealers []int, size int64) ([]byte, error)
	// Columns returns this client's columns of all deals in a plan's cut, one after the other, size
	// bytes in total.
	Columns(ctx context.Context, ask uint64, size int64) ([]byte, error)
	// Release writes the release in an answer to plan ask to w. The release has the given hash and
	// size. Release does not check the hash.
	Release(ctx context.Context, ask uint64, hash [32]byte, size int64, w io.Writer) error
	Confirm(ctx context.Context, envelope []byte) error
	// Complain tells the coordinator that a deal cannot be read. dealer is a place in the roster.
	Complain(ctx context.Context, ask uint64, dealer int) error
	Renewer
}

// A Status describes a client's progress in a study. No number in it depends on records.
type Status struct {
	Study string `json:"study"`
	Asked int    `json:"questions_asked"`
	Of    int    `json:"questions_in_all"`
	// event that the client is waiting for; empty while it computes
	Waiting string    `json:"waiting_for,omitempty"`
	Since   time.Time `json:"since"`
	Missed  string    `json:"gossip_misses,omitempty"` // names of the daemons that gossip has lost contact with
}

// A Run is the configuration of [Client.Run].
type Run struct {
	Member *Member
	Policy *Policy
	Data   origin.Source // table of records
	// Reading, unless nil, is called once the records are read. Only the data holder may see the
	// report, because it depends on the records.
	Reading func(shard.Report)
	// Connect connects to the coordinator. If a connection fails, Run calls it again.
	Connect func(ctx context.Context) (Link, io.Closer, error)
	// Patience is how long Run tries to reach the coordinator before it gives up.
	Patience time.Duration
	// Show, unless nil, is called whenever the status changes.
	Show func(Status)
	// Wait returns after the duration d, or earlier if ctx is done. It is called between attempts
	// to connect, and before an answer is sent.
	Wait func(ctx context.Context, d time.Duration) error
	// Gossip is the IP address and port where other daemons reach this one by UDP and TCP. If it is
	// empty, there is no gossip.
	Gossip string
	// Device provides the device for the private gradient steps. If it is nil, they are computed on
	// the CPU.
	Device device.Source

	status *showing
	gossip *gossip // this daemon's gossip; nil if it has none
}

// maxBetween is the longest wait between two attempts to connect to a coordinator.
const maxBetween = 30 * time.Second

// Read reads the records in the form that the study describes. It also returns a keyed hash (see
// [ledger.NameRecords]) of the file's bytes or the query's values. Only the data holder may see the
// report, because it depends on the records.
func (c *Client) Read(ctx context.Context, m *Member, data origin.Source) (*shard.Records, shard.Report, ledger.Hash, error) {
	var records *shard.Records
	var report shard.Report
	named, err := ledger.NameRecords(c.store.Identity(), func(named io.Writer) error {
		return data.Read(ctx, shard.Format(m.Study), shard.Wanted(m.Study), named, func(rows table.Reader) (err error) {
			records, report, err = shard.ReadTable(data.From, rows, m.Study)
			return err
		})
	})
	if err != nil && ctx.Err() == nil {
		err = &UsageError{err}
	}
	if err != nil {
		return nil, shard.Report{}, named, err
	}
	all := records.Len()
	records = records.Keep(m.Study)
	report.Records, report.Surplus = records.Len(), all-records.Len()
	return records, report, named, nil
}

// Run takes part in a study until it ends, and returns the result. It continues where the last run
// stopped. If a connection fails, it connects again.
func (c *Client) Run(ctx context.Context, r Run) (ending *Ending, err error) {
	if err := c.halted(); err != nil {
		return nil, err
	}
	began := c.now()
	records, report, named, err := c.Read(ctx, r.Member, r.Data)
	if err != nil {
		return nil, err
	}
	c.saveReading(r.Member, r.Data.From, report)
	if r.Reading != nil {
		r.Reading(report)
	}
	a, err := c.newParticipant(r.Member, r.Policy, records, named)
	if err != nil {
		return nil, err
	}
	a.wanted = r.Device
	defer func() { err = errors.Join(err, device.Close(a.devices)) }()
	if err := a.useDevice(); err != nil {
		return nil, err
	}
	if err := a.delayConnection(ctx, &r, began); err != nil {
		return nil, err
	}
	r.status = &showing{now: c.now, show: r.Show, status: Status{Study: r.Member.Study.Name, Since: c.now()}}
	if r.Gossip != "" {
		if r.gossip, err = c.gossips(ctx, &r, func() { r.status.change(func(*Status) {}) }); err != nil {
			return nil, err
		}
		r.status.gossip = r.gossip
		r.gossip.meet(a)
	}
	ending, err = c.untilOver(ctx, &r, a)
	if e := r.gossip.close(); e != nil {
		c.log.Warn("closing gossip failed", "error", e)
	}
	return ending, err
}

// untilOver takes part in a study until it ends, or until it has not been able to connect for the
// time r.Patience.
func (c *Client) untilOver(ctx context.Context, r *Run, a *participant) (*Ending, error) {
	var failing time.Time // when the last connection failed; zero while connected
	for between := time.Second; a.at.Ended == nil; {
		err := c.session(ctx, r, a, func() { failing, between = time.Time{}, time.Second })
		if err == nil || !as[*transport.Unreachable](err) || ctx.Err() != nil {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			continue
		}
		if failing.IsZero() {
			failing = c.now()
		}
		if c.now().Sub(failing) >= r.Patience {
			return nil, err
		}
		c.log.Warn("the coordinator cannot be reached", "error", err, "since", failing)
		r.show(a, "the coordinator, which cannot be reached")
		if err := r.Wait(ctx, between); err != nil {
			return nil, err
		}
		between = min(2*between, maxBetween)
	}
	return a.at.Ended, c.destroyKey(r.Member)
}

// session takes part in a study over one connection. It calls reached once the coordinator has
// replied for the first time.
func (c *Client) session(ctx context.Context, r *Run, a *participant, reached func()) error {
	link, closer, err := r.Connect(ctx)
	if err != nil {
		return err
	}
	defer closer.Close()
	standing, err := link.Standing(ctx)
	if err != nil {
		return err
	}
	reached()
	if err := a.witness(standing); err != nil {
		return err
	}
	if err := c.learnAndSave(a.member, standing.Renewals); err != nil {
		return err
	}
	r.gossip.join(a.member, standing.Gossip)
	if err := c.renew(ctx, a.member, link); err != nil {
		return err
	}
	if !standing.Approved {
		envelope, err := c.consent(a.member)
		if err == nil {
			err = link.Approve(ctx, envelope)
		}
		if err != nil {
			return err
		}
		c.log.Info("sent the approval to the coordinator", "study", a.member.Study.Name)
		c.note(a.member, audit.Consent, slog.LevelInfo)
	}
	for a.at.Ended == nil {
		if err := a.turn(ctx, r, link, standing.Entries); err != nil {
			return err
		}
		if _, asked := a.pending(); !asked && !a.adds() {
			continue
		}
		// In the meantime, a new entry may have closed the plan, and an answer would be charged for
		// nothing. So ask for the number of entries again before answering.
		if standing, err = link.Standing(ctx); err != nil {
			return err
		}
	}
	return nil
}

// turn takes one step. Once this client has processed all known transcript entries, turn sends the
// stored answers, answers the pending plan, and waits for the next entry to process.
func (a *participant) turn(ctx context.Context, r *Run, link Link, known uint64) error {
	c := a.client
	if a.at.Number >= known {
		if err := a.sendKeys(ctx, link); err != nil {
			return err
		}
		if err := a.resend(ctx, r, link); err != nil {
			return err
		}
		if ask, asked := a.pending(); asked {
			r.show(a, "")
			if err := a.reply(ctx, r, link, ask); err != nil {
				return err
			}
		}
		if err := a.addUp(ctx, link); err != nil {
			return err
		}
	}
	r.show(a, a.awaits())
	item, err := link.Entry(ctx, a.next())
	if err != nil {
		return err
	}
	if a.at.Number == 0 { // until the study begins, the coordinator may change its keys
		standing, err := link.Standing(ctx)
		if err == nil {
			err = c.learnAndSave(a.member, standing.Renewals)
		}
		if err != nil {
			return err
		}
	}
	before := a.history()
	e, err := a.followBrief(ctx, link, item)
	if err != nil {
		return fmt.Errorf("entry %d of the transcript: %w", a.next(), err)
	}
	a.logVerdict(before)
	a.noteEntry(e, before)
	if e.Kind.Plan() {
		a.asked = c.now()
	}
	r.gossip.meet(a)
	c.log.Info("followed", "entry", e.Number, "kind", e.Kind, "question", e.Ask)
	return nil
}

// history counts the rounds that this client has seen.
func (a *participant) history() session.History {
	if a.site == nil {
		return session.History{}
	}
	return a.site.History()
}

// logVerdict logs the verdict on a round, if one has ended since the history before.
func (a *participant) logVerdict(before session.History) {
	now := a.history()
	switch {
	case now.Accepted > before.Accepted:
		a.client.log.Info("a round was accepted: the posterior moved", "accepted", now.Accepted)
	case now.Rejected > before.Rejected:
		a.client.log.Warn("a round was rejected: the posterior did not move, but its answers stay charged", "in_a_row", now.InARow)
	case now.Void > before.Void:
		a.client.log.Warn("a round was void: too few clients answered, but its answers stay charged", "void", now.Void)
	}
}

// maxFailures is the number of failed answers in a row after which the client stops. Each of them
// is charged. The number is saved, so a later run stops after one more failure.
const maxFailures = 3

// reply computes, charges and sends the answer to a plan. If this fails, the client goes on without
// an answer. After maxFailures failures in a row, reply returns a Failing.
func (a *participant) reply(ctx context.Context, r *Run, link Link, ask uint64) error {
	item, err := a.answer(ctx)
	if gone := new(lost); errors.As(err, &gone) {
		a.client.log.Error("the answer to a plan could not be computed; it is charged, because its noise was drawn", "question", ask, "error", gone.why)
		if a.at.Failed < maxFailures {
			return nil
		}
		// The coordinator sees when the client stops. It must not learn from this when the
		// computation ended.
		if err := a.keepPace(ctx, r, ask); err != nil {
			return err
		}
		return &Failing{a.at.Failed, gone.why}
	}
	if err != nil {
		return err
	}
	a.client.log.Info("an answer was charged", "question", ask)
	return a.submit(ctx, r, link, ask, item)
}

// lost is the error for an answer that was charged but could not be computed. Other clients'
// messages can cause this error, so it must not stop the client: otherwise one client could stop
// another.
type lost struct{ why error }

func (l *lost) Error() string { return l.why.Error() }

// resend sends the stored answers that this process has not sent yet and whose outcome is unknown.
func (a *participant) resend(ctx context.Context, r *Run, link Link) error {
	asks, err := a.client.store.Outbox(a.member.Hash)
	if err != nil {
		return err
	}
	for _, ask := range asks {
		if ask <= a.sent || !a.mayDeal() {
			continue // already sent, or too late for the sum
		}
		item, ok, err := a.client.store.Unsent(a.member.Hash, ask)
		if err == nil && ok {
			err = a.submit(ctx, r, link, ask, item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepPace waits until an answer may be sent. This is one pace (a fixed interval of the study)
// after its plan was read. If the computation took longer, it is the next multiple of the pace. How
// long the client computes depends on its records, so the coordinator must not see when the
// computation ended.
func (a *participant) keepPace(ctx context.Context, r *Run, ask uint64) error {
	after, rest, late := a.untilPace(a.asked)
	if late {
		a.client.log.Warn("an answer took longer than the study's pace: the coordinator can see this delay, which may depend on the records", "question", ask, "leaves_after", after)
	}
	return a.pause(ctx, r, rest)
}

// delayConnection delays a process's first connection until a multiple of the study's pace (a fixed
// interval) has passed since began. This is the time when the process began to read the records.
// How long it reads depends on their contents, so others must not find out. Without the delay, some
// could: the coordinator, if the client has only just joined, and anyone who reads an audit log or
// metrics that show when the process began.
func (a *participant) delayConnection(ctx context.Context, r *Run, began time.Time) error {
	_, rest, _ := a.untilPace(began)
	if err := a.pause(ctx, r, rest); err != nil {
		return err
	}
	a.asked = a.client.now()
	return nil
}

// untilPace finds the next multiple of the study's pace after a time. rest is the time until then,
// and late is true if more than one pace has passed. If the study has no pace, all results are
// zero.
func (a *participant) untilPace(since time.Time) (after, rest time.Duration, late bool) {
	pace := time.Duration(a.member.Study.Federation.Pace * float64(time.Second))
	if pace == 0 {
		return 0, 0, false
	}
	took := a.client.now().Sub(since)
	paces := max(0, took/pace) + 1
	return paces * pace, paces*pace - took, paces > 1
}

func (a *participant) pause(ctx context.Context, r *Run, d time.Duration) error {
	if d == 0 {
		return nil
	}
	return r.Wait(ctx, d)
}

// submit sends an answer. If the answer comes too late for its plan or its study, submit records
// that it was not accepted. It remains charged.
func (a *participant) submit(ctx context.Context, r *Run, link Link, ask uint64, item transport.Item) error {
	if err := a.keepPace(ctx, r, ask); err != nil {
		return err
	}
	err := link.Submit(ctx, item)
	var refused *transport.Refusal
	if errors.As(err, &refused) && (refused.Reason == transport.OutOfPlace || refused.Reason == transport.Ended) {
		a.client.log.Warn("an answer was not accepted; its charge stays", "question", ask, "why", refused.Text)
		a.noteAnswer(ask, slog.LevelWarn, "not accepted")
		return a.missed(ask, refused.Text)
	}
	if err == nil {
		a.sent = max(a.sent, ask)
		a.client.log.Info("an answer was accepted", "question", ask)
		a.noteAnswer(ask, slog.LevelInfo, "accepted")
	}
	return err
}

func (a *participant) awaits() string {
	switch {
	case a.at.Number == 0:
		return "the coordinator to begin: all clients must join and approve first"
	case a.at.Asks[0] == 0:
		return "the coordinator's first plan"
	case a.site.Done():
		return "the coordinator to publish the result"
	case a.sums != nil && a.sums.Step() == sums.Confirming:
		return fmt.Sprintf("other clients to confirm whose answers to plan %d are added up", a.at.Asks[0])
	case a.sums != nil && a.sums.Step() == sums.Sharing:
		return fmt.Sprintf("other clients to open the sum of plan %d", a.at.Asks[0])
	}
	return fmt.Sprintf("the other clients and the coordinator, after plan %d", a.at.Asks[0])
}

// Ending returns the result of a study, or nil while the study is running.
func (c *Client) Ending(m *Member) (*Ending, error) {
	at, _, err := c.position(m.Hash)
	return at.Ended, err
}

// position reads the client's progress in a study. If the client has not followed any entry, begun
// is false.
func (c *Client) position(of ledger.Hash) (at position, begun bool, err error) {
	if begun, err = c.has(of, positionPart); err == nil && begun {
		err = c.get(of, positionPart, &at)
	}
	return at, begun, err
}

// Leave ends this client's participation in a study for good, and tells the coordinator. The ledger
// stays the same.
func (c *Client) Leave(ctx context.Context, m *Member, reason string, link Link) error {
	signer := m.keys.identity
	if begun, err := c.has(m.Hash, positionPart); err != nil {
		return err
	} else if !begun {
		signer = m.newest().identity
	}
	envelope, err := transcript.SignLeave(signer, m.Hash, reason)
	if err != nil {
		return &UsageError{fmt.Errorf("the reason must be one line of at most %d bytes", transcript.MaxReason)}
	}
	if err := c.put(m.Hash, leftPart, reason); err != nil {
		return err
	}
	if err := link.Approve(ctx, envelope); err != nil {
		return err
	}
	c.note(m, audit.Leave, slog.LevelWarn, slog.String("reason", reason))
	return nil
}
