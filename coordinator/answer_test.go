package coordinator

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/wire"
	"fedpvi/transport"
)

// crossedText returns a study document with a coefficient for each pair of levels of two columns.
func crossedText(levels int) []byte {
	var all []string
	for i := range levels {
		all = append(all, fmt.Sprintf("%q", fmt.Sprint(i)))
	}
	var b strings.Builder
	b.WriteString("[study]\nversion = 1\nname = \"crossed\"\n")
	for _, name := range []string{"a", "b"} {
		fmt.Fprintf(&b, "[[column]]\nname = %q\ntype = \"categorical\"\nlevels = [%s]\n", name, strings.Join(all, ", "))
	}
	b.WriteString("[[column]]\nname = \"y\"\ntype = \"numeric\"\nbounds = [-10, 10]\n")
	b.WriteString("[model]\nfamily = \"linear\"\noutcome = \"y\"\nterms = [\"a*b\"]\nstandardise = \"none\"\nnoise_sd = 0.5\n")
	b.WriteString("[inference]\nrounds = 2\nq = \"diagonal\"\ndamping = 0.1\n[privacy]\nunit = \"client\"\nnoise_multiplier = 1.0\ndelta = 1e-5\nclip = 60\n[federation]\nmax_records = 1000\n")
	return []byte(b.String())
}

// A longStand is a running study of two clients whose answers consist of several chunks. The first
// plan is open.
type longStand struct {
	*crowd
	north, south *party
	chain        transcript.Chain
	plan         transcript.Entry
}

func newLongStand(t *testing.T, levels int) *longStand {
	c := newCrowd(t, 2, crossedText(levels))
	s := &longStand{crowd: c, north: c.parties[0], south: c.parties[1], chain: c.study.st.chain}
	item, err := s.north.link.Entry(t.Context(), 2)
	check(t, err)
	_, s.plan, err = s.chain.At(transcript.Position{Number: 1, Head: c.before(2)}).Follow(item.Envelope, item.Body)
	check(t, err)
	return s
}

// says returns an answer of p with the numbers n, n+1, n+2 and so on. If change is not nil, it can
// alter the numbers first.
func (s *longStand) says(p *party, n int64, change func([]int64)) transport.Item {
	numbers := make([]int64, s.size)
	for i := range numbers {
		numbers[i] = n + int64(i)
	}
	if change != nil {
		change(numbers)
	}
	return s.answer(p, s.chain, s.plan, s.chain.Protocol(), numbers)
}

// standing returns the encoded state of the study's state machine, which includes the sum so far.
func (s *longStand) standing() []byte {
	s.t.Helper()
	s.mustStatus() // wait until the study's goroutine has carried out all earlier commands
	b, err := s.study.st.server.MarshalBinary()
	check(s.t, err)
	return b
}

// checkedAnswer sends all pieces of an answer and checks the stored answer, but does not add it to
// the sum.
func (s *longStand) checkedAnswer(p *party, i transport.Item) (*written, payload) {
	s.t.Helper()
	_, err := s.study.Offer(s.t.Context(), p.peer, i.Envelope, nil)
	check(s.t, err)
	const cut = 100_000
	hash := transcript.BodyOf(i.Envelope).Hash
	check(s.t, s.study.Write(s.t.Context(), p.peer, hash, 0, i.Body[:cut]))
	var w *written
	check(s.t, s.study.asClient(s.t.Context(), p.peer, func(b *batch, _ *client) (err error) {
		w, err = b.piece(p.peer.Name, hash, cut, i.Body[cut:])
		return err
	}))
	payload, fault, err := s.study.opened(w)
	if fault != nil || err != nil {
		s.t.Fatalf("a good answer: %v, %v", fault, err)
	}
	return w, payload
}

func (s *longStand) take(p *party, w *written, payload payload) error {
	return s.study.asClient(s.t.Context(), p.peer, func(b *batch, c *client) error {
		return b.take(p.peer.Name, c, w, payload)
	})
}

func (s *longStand) damage(p *party, at int64, change byte) {
	s.t.Helper()
	key := store.ReleaseKey{Ask: 1, Client: string(p.peer.Name)}
	check(s.t, s.hub.store.UpdateStudy(s.study.hash, func(kept store.Study) error {
		const page = 32 << 10 // page size of the store after the first 100,000 bytes
		first := at - (at-100_000)%page
		b := make([]byte, min(page, kept.Have(key)-first))
		check(s.t, kept.ReadAnswer(key, b, first))
		b[at-first] ^= change
		return kept.PutPiece(key, first, b)
	}))
}

// checkSum checks that the outcome of the first round is the sum of both clients' numbers.
func (s *longStand) checkSum(north, south int64) {
	s.t.Helper()
	item, err := s.north.link.Entry(s.t.Context(), 3)
	check(s.t, err)
	limits := wire.Limits{Elements: s.size, Clients: 2, Name: 100}
	o, err := wire.ReadOutcome(item.Body, limits)
	check(s.t, err)
	for i, n := range o.Sum {
		if want := north + south + 2*int64(i); n != want {
			s.t.Fatalf("element %d of the sum is %d, not %d", i, n, want)
		}
	}
	if len(o.Sum) != s.size {
		s.t.Errorf("the sum has %d elements of %d", len(o.Sum), s.size)
	}
}

// The test changes the stored bytes of an answer after they were checked. By the time the
// coordinator notices, it may have added part of the answer to the sum. It must then reload its
// state from the disk, and later accept the right bytes.
func TestAnswerThatChangesAfterCheckDoesNotCount(t *testing.T) {
	s := newLongStand(t, 100)
	good := s.says(s.north, 5, nil)
	before := s.standing()
	w, payload := s.checkedAnswer(s.north, good)
	s.damage(s.north, int64(len(good.Body))-1, 1) // changes a byte in the last chunk
	if got := reasonOf(t, s.take(s.north, w, payload)); got != transport.Unavailable {
		t.Errorf("an answer that changed: %q", got)
	}
	if !bytes.Equal(s.standing(), before) {
		t.Error("some of it counts")
	}
	if got := reasonOf(t, s.north.submit(t.Context(), good, 64<<10)); got != transport.Malformed {
		t.Errorf("the bytes that changed: %q", got)
	}
	check(t, s.north.submit(t.Context(), good, 64<<10))
	check(t, s.south.submit(t.Context(), s.says(s.south, -70, nil), 200_000))
	s.checkSum(5, -70)
}

// The coordinator reads a long answer twice: first to check it, then to add it to the sum. If it is
// killed in between, it must accept the answer when the client offers it again. If it is killed
// after both, it must add the answer to the sum again.
func TestKilledBetweenPasses(t *testing.T) {
	s := newLongStand(t, 100)
	good := s.says(s.north, 5, nil)
	before := s.standing()
	s.checkedAnswer(s.north, good)
	again := func() {
		check(t, s.hub.Close())
		s.open()
	}
	again()
	if !bytes.Equal(s.standing(), before) {
		t.Error("an answer that was checked counts")
	}
	check(t, s.north.submit(t.Context(), good, 64<<10))
	taken := s.standing()
	if bytes.Equal(taken, before) {
		t.Error("an answer that was taken does not count")
	}
	again()
	if !bytes.Equal(s.standing(), taken) {
		t.Error("the state differs from the one before the restart")
	}
	check(t, s.south.submit(t.Context(), s.says(s.south, -70, nil), 200_000))
	s.checkSum(5, -70)
}

// When a plan is closed, the coordinator deletes an answer even if it is still being checked. It
// must then tell the client that the answer is late, or report success if the answer has already
// been accepted.
func TestPlanIsClosedDuringCheck(t *testing.T) {
	s := newLongStand(t, 100)
	late, taken := s.says(s.north, 5, nil), s.says(s.south, -70, nil)
	w, _ := s.checkedAnswer(s.north, late)
	again, payload := s.checkedAnswer(s.south, taken)
	check(t, s.take(s.south, again, payload))
	check(t, s.study.call(t.Context(), func(b *batch) error {
		b.state.open[1].deadline = b.now
		return nil
	}))
	s.mustStatus() // wait until the study's goroutine has closed the plan
	if got := reasonOf(t, s.study.finish(t.Context(), s.north.peer, w)); got != transport.OutOfPlace {
		t.Errorf("an answer that came too late: %q", got)
	}
	check(t, s.study.finish(t.Context(), s.south.peer, again))
}

// The test replaces an answer by other bytes after it was checked.
func TestAnswerThatIsDroppedAfterCheckIsRefused(t *testing.T) {
	s := newLongStand(t, 100)
	good := s.says(s.north, 5, nil)
	before := s.standing()
	w, payload := s.checkedAnswer(s.north, good)
	check(t, s.study.asClient(t.Context(), s.north.peer, func(b *batch, c *client) error {
		return b.drop(s.north.peer.Name, w, nil)
	}))
	_, err := s.study.Offer(t.Context(), s.north.peer, good.Envelope, nil)
	check(t, err)
	check(t, s.study.Write(t.Context(), s.north.peer, w.release.Hash, 0, make([]byte, 70_000)))
	if got := reasonOf(t, s.take(s.north, w, payload)); got != transport.Unavailable {
		t.Errorf("an answer that was dropped: %q", got)
	}
	if !bytes.Equal(s.standing(), before) {
		t.Error("some of it counts")
	}
	if got := reasonOf(t, s.north.submit(t.Context(), good, 64<<10)); got != transport.Malformed {
		t.Errorf("the bytes in their place: %q", got)
	}
	check(t, s.north.submit(t.Context(), good, 64<<10))
}

// The last chunk has a byte that changed in transit, a wrong byte that the client has signed, or a
// number that is out of range.
//
//abuse:case A13 a number beyond the range at the end of a long answer changes nothing
func TestErrorAtEndOfLongAnswerIsRefused(t *testing.T) {
	s := newLongStand(t, 100)
	before := s.standing()
	beyond := s.says(s.north, 5, func(numbers []int64) { numbers[s.size-1] = 1 << 62 })
	if got := reasonOf(t, s.north.submit(t.Context(), beyond, 64<<10)); got != transport.Malformed {
		t.Errorf("a number beyond its range: %q", got)
	}
	if !bytes.Equal(s.standing(), before) {
		t.Error("some of it counts")
	}
	good := s.says(s.south, -70, nil)
	changed := transport.Item{Envelope: good.Envelope, Body: bytes.Clone(good.Body)}
	changed.Body[len(changed.Body)-1] ^= 1
	if got := reasonOf(t, s.south.submit(t.Context(), changed, 64<<10)); got != transport.Malformed {
		t.Errorf("a byte that was changed: %q", got)
	}
	if !bytes.Equal(s.standing(), before) {
		t.Error("some of it counts")
	}
	check(t, s.south.submit(t.Context(), good, 64<<10))
}

// The coordinator decrypts a stored answer once to check it and once to read it into memory, first
// as bytes and then as numbers. The age package allocates memory for each chunk, so each pass
// allocates as many bytes as the answer has.
func TestLongAnswerTakesLittleMemory(t *testing.T) {
	s := newLongStand(t, 240)
	good := s.says(s.north, 5, nil)
	size := uint64(len(good.Body))
	if size < 900<<10 {
		t.Fatalf("the answer has %d bytes", size)
	}
	before := s.standing()
	var w *written
	var opened payload
	sent := memory.Allocated(func() { w, opened = s.checkedAnswer(s.north, good) })
	inUse := live()
	var again payload
	checked := memory.Allocated(func() {
		var err error
		if again, _, err = s.study.opened(w); err != nil {
			t.Error(err)
		}
	})
	if now := live(); now > inUse+300<<10 {
		t.Errorf("an answer that was checked keeps %d bytes", now-inUse)
	}
	runtime.KeepAlive(again)
	added := memory.Allocated(func() { check(t, s.take(s.north, w, opened)) })
	if bytes.Equal(s.standing(), before) {
		t.Error("the answer was not accepted")
	}
	t.Logf("sending took %d bytes, checking %d, adding up %d, of an answer of %d", sent, checked, added, size)
	garbage := size + size/8      // bytes that one pass over the answer allocates
	numbers := uint64(8 * s.size) // size of the answer as numbers, in bytes; the sum is as large
	taken := size + 2*numbers     // the answer as bytes, the answer as numbers, and the sum
	if checked > garbage+300<<10 || added > garbage+taken+300<<10 {
		t.Errorf("checking took %d bytes, and adding up %d", checked, added)
	}
}

// live returns the bytes in use on the heap after a garbage collection.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
