package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/transport/internal/wirepb"
)

// A client that does not read must take only as much memory as a flow-control window, and not as
// much as a whole entry.
//
//abuse:case A12 a follower that does not read costs a window
func TestMemoryOfStalledFollowers(t *testing.T) {
	w := newWorld(t)
	body := make([]byte, 8_000_000)
	w.desk.say(body)
	before := heap()
	const followers = 10
	var streams []wirepb.Study_FollowClient
	for i := range followers {
		rpc := wirepb.NewStudyClient(w.raw(w.config(identity.Name(fmt.Sprintf("site-%d", i)))))
		s, err := rpc.Follow(inVersion(t.Context(), "1"), wirepb.FollowRequest_builder{Number: 1}.Build())
		check(t, err)
		m, err := s.Recv()
		check(t, err)
		if !m.HasStart() {
			t.Fatal("no start")
		}
		streams = append(streams, s)
	}
	if more := heap() - before; more > 2*int64(len(body)) {
		t.Errorf("%d followers of %d bytes take %d bytes at both ends", followers, len(body), more)
	}
	for _, s := range streams {
		got := 0
		for {
			m, err := s.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			check(t, err)
			got += len(m.GetPiece())
		}
		if got > len(body) || got < len(body)-entryMessage {
			t.Errorf("%d bytes after the first piece", got)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

//abuse:case A25 taken once
func TestSameReleaseOnTwoConnections(t *testing.T) {
	synctest.Test(t, sameTwice)
}

func sameTwice(t *testing.T) {
	w := newWorld(t)
	release := item(bytes.Repeat([]byte{7}, 2<<20))
	rpc := wirepb.NewStudyClient(w.raw(w.config("north")))
	first, err := rpc.Submit(inVersion(t.Context(), "1"))
	check(t, err)
	check(t, first.Send(offer(release.Envelope, 2<<20)))
	_, err = first.Recv()
	check(t, err)
	check(t, first.Send(piece(0, release.Body[:1000])))
	start := time.Now()
	check(t, w.dial(w.config("north")).Submit(t.Context(), release))
	if _, err := first.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the earlier call continues: %v", err)
	}
	if took := time.Since(start); took >= w.server.timing.stall {
		t.Errorf("the later call waited for the earlier one: %v", took)
	}
	if n := w.desk.taken(release); n != 1 {
		t.Errorf("taken %d times", n)
	}
}

// BenchmarkFollowers sends entries with 1,000 parameters to many clients over loopback. It reports
// how many bytes the connections carry for each byte of a body.
func BenchmarkFollowers(b *testing.B) {
	for _, followers := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(followers), func(b *testing.B) {
			o := newCounter()
			w, clients := loopback(b, o, followers)
			body := make([]byte, 8<<10)
			b.SetBytes(int64(followers * len(body)))
			o.sent = 0
			for n := uint64(1); b.Loop(); n++ {
				w.desk.say(body)
				var all sync.WaitGroup
				for _, c := range clients {
					all.Go(func() {
						if _, err := c.Entry(b.Context(), n); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
			b.ReportMetric(float64(o.sent)/float64(b.N*followers*len(body)), "wire/payload")
		})
	}
}

// BenchmarkRelease sends releases with a million parameters, one after the other.
func BenchmarkRelease(b *testing.B) {
	o := newCounter()
	w, clients := loopback(b, o, 1)
	delete(w.server.studies, channel.ServerName(w.document))
	check(b, w.server.Add(w.study(&sink{})))
	body := make([]byte, 8_000_000)
	b.SetBytes(int64(len(body)))
	o.received = 0
	for n := 0; b.Loop(); n++ {
		copy(body, fmt.Sprint(n))
		check(b, clients[0].Submit(b.Context(), item(body)))
	}
	b.ReportMetric(float64(o.received)/float64(b.N*len(body)), "wire/payload")
}

// A sink accepts all releases without checking them.
type sink struct{ Coordinator }

func (*sink) Offer(context.Context, channel.Party, []byte, []byte) (int64, error) { return 0, nil }
func (*sink) Write(context.Context, channel.Party, Hash, int64, []byte) error     { return nil }

// BenchmarkWaiting reports how much memory an idle connection takes at both ends. About half of it
// is on the coordinator's side.
func BenchmarkWaiting(b *testing.B) {
	const followers = 200
	before := heap()
	_, clients := loopback(b, newCounter(), followers)
	var waiting sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	for _, c := range clients {
		waiting.Go(func() { c.Entry(ctx, 1) })
	}
	for b.Loop() {
		<-time.After(time.Millisecond)
	}
	b.ReportMetric(float64(heap()-before)/followers, "B/connection")
	cancel()
	waiting.Wait()
}

// loopback returns a test server on a real port, and clients that have connected to it.
func loopback(b *testing.B, o Observer, clients int) (*world, []*Client) {
	w := &world{office: newOffice(b, document), desk: newDesk(), served: make(chan error, 1)}
	var err error
	w.server, err = NewServer(ServerConfig{Observer: o, Log: slog.New(slog.DiscardHandler)})
	check(b, err)
	check(b, w.server.Add(w.study(w.desk)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	go func() { w.served <- w.server.Serve(l) }()
	b.Cleanup(w.close)
	var all []*Client
	for i := range clients {
		credentials := w.credentials(identity.Name(fmt.Sprintf("site-%d", i)), identity.Client)
		all = append(all, w.dial(Config{
			Address: l.Addr().String(), MaxEntry: 16 << 20,
			TLS: channel.Client{Credentials: credentials, Pins: w.pin, Now: time.Now}.Config(),
		}))
	}
	return w, all
}
