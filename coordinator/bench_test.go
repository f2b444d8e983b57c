package coordinator

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/wire"
	"fedpvi/transport"
)

func wideText(d, rounds int) []byte {
	var b strings.Builder
	b.WriteString("[study]\nversion = 1\nname = \"wide\"\n")
	terms := make([]string, d-1)
	for i := range terms {
		terms[i] = fmt.Sprintf("x%d", i)
		fmt.Fprintf(&b, "[[column]]\nname = %q\ntype = \"numeric\"\nbounds = [-1, 1]\n", terms[i])
	}
	b.WriteString("[[column]]\nname = \"y\"\ntype = \"numeric\"\nbounds = [-10, 10]\n")
	fmt.Fprintf(&b, "[model]\nfamily = \"linear\"\noutcome = \"y\"\nterms = [\"%s\"]\nstandardise = \"none\"\nnoise_sd = 0.5\n", strings.Join(terms, `", "`))
	fmt.Fprintf(&b, "[inference]\nrounds = %d\nq = \"diagonal\"\ndamping = 0.1\n[privacy]\nunit = \"client\"\nnoise_multiplier = 1.0\ndelta = 1e-5\nclip = 60\n[federation]\nmax_records = 1000\n", rounds)
	return []byte(b.String())
}

// A crowd is a study with many clients whose answers contain made-up numbers.
type crowd struct {
	*house
	parties []*party
	padded  int
	size    int             // how many numbers an answer has
	used    []time.Duration // CPU time of each round
}

func newCrowd(t testing.TB, clients int, document []byte) *crowd {
	t.Helper()
	h := newHouse(t, Options{})
	h.found(document)
	names := make([]identity.Name, clients)
	for m := range names {
		names[m] = identity.Name(fmt.Sprintf("x%dx", m))
	}
	c := &crowd{house: h, parties: h.invite(names...)}
	c.all(func(p *party) error { return p.join(context.Background()) })
	c.all(func(p *party) error { return p.approve(context.Background()) })
	status := h.mustStatus()
	if status.Phase != Running || len(status.Open) != 1 {
		t.Fatalf("the study is %s, waiting for %s %s", status.Phase, status.Waits, status.Reason)
	}
	st := c.parties[0].document
	protocol, err := pvi.NewProtocol(st, as[pvi.ClientID](names))
	check(t, err)
	c.size = protocol.MessageSize()
	c.padded, err = session.MaxRelease(st, as[pvi.ClientID](names))
	check(t, err)
	return c
}

func (c *crowd) all(do func(p *party) error) {
	var group sync.WaitGroup
	for _, p := range c.parties {
		group.Go(func() {
			if err := do(p); err != nil {
				c.t.Error(err)
			}
		})
	}
	group.Wait()
}

// round makes all clients answer the open plan. It returns the time between the first byte that a
// client sends and the outcome.
func (c *crowd) round(protocol Hash) time.Duration {
	standing, err := c.parties[0].link.Standing(c.t.Context())
	check(c.t, err)
	item, err := c.parties[0].link.Entry(c.t.Context(), standing.Entries)
	check(c.t, err)
	chain := c.study.st.chain
	_, e, err := chain.At(transcript.Position{Number: standing.Entries - 1, Head: c.before(standing.Entries)}).Follow(item.Envelope, item.Body)
	check(c.t, err)
	change := make([]int64, c.size)
	items := make([]transport.Item, len(c.parties))
	for m, p := range c.parties {
		items[m] = c.answer(p, chain, e, protocol, change)
	}
	runtime.GC()
	begin, used := time.Now(), processorTime(c.t)
	var group sync.WaitGroup
	for m, p := range c.parties {
		group.Go(func() {
			if err := p.submit(context.Background(), items[m], 256<<10); err != nil {
				c.t.Error(err)
			}
		})
	}
	_, err = c.parties[0].link.Entry(c.t.Context(), standing.Entries+1)
	check(c.t, err)
	took := time.Since(begin)
	group.Wait()
	c.used = append(c.used, processorTime(c.t)-used)
	return took
}

// answer returns a client's answer to the plan in entry e. The answer consists of the numbers in
// change.
func (c *crowd) answer(p *party, chain transcript.Chain, e transcript.Entry, protocol Hash, change []int64) transport.Item {
	r := &pvi.Release{Protocol: pvi.Digest(protocol), Number: int(e.Ask), Client: pvi.ClientID(p.peer.Name), Change: change}
	p.ledger++
	h := chain.ReleaseHeader(e.Ask, e.Model, p.identity.Fingerprint(), p.ledger, Hash{})
	body, err := seal.Seal(p.hub.Recipient, h.Bytes(), wire.AppendRelease(nil, r), c.padded)
	check(c.t, err)
	envelope, err := transcript.SignRelease(p.identity, h, body, Hash{})
	check(c.t, err)
	return transport.Item{Envelope: envelope, Body: body}
}

func processorTime(t testing.TB) time.Duration {
	var r unix.Rusage
	check(t, unix.Getrusage(unix.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// before returns the hash of the envelope of entry n − 1.
func (c *crowd) before(n uint64) Hash {
	item, err := c.study.item(n - 1)
	check(c.t, err)
	return transcript.BodyOf(item.Envelope).Hash
}

// BenchmarkRoundOfAThousand measures how long the coordinator works on a round with 1,000 clients
// and 1,000 coefficients. It does not include the network or the clients' own work.
func BenchmarkRoundOfAThousand(b *testing.B) {
	c := newCrowd(b, 1000, wideText(1000, 10_000))
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		took = append(took, c.round(c.study.st.chain.Protocol()))
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "max-ms")
	slices.Sort(c.used)
	b.ReportMetric(float64(c.used[len(c.used)/2].Milliseconds()), "p50-processor-ms")
}
