package coordinator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// twoAreEnough lets a study with three clients continue if only two of them answer.
const twoAreEnough = "min_clients = 2"

//abuse:case A25 at the deadline the round is closed without the late answers
func TestDeadlineClosesRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, parties := begun(t, Options{RoundDeadline: 10 * time.Minute}, planeText(clientPrivacy, "rounds = 1", twoAreEnough), "north", "south", "west")
		play(t, parties[0], parties[1])
		status := h.mustStatus()
		if status.Waits != "answers" || !slices.Equal(status.For, []string{"west"}) || status.Open[0].Answered != 2 {
			t.Fatalf("the study waits for %s: %v", status.Waits, status.For)
		}
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		if len(h.mustStatus().Open) != 1 {
			t.Error("the round was closed before its deadline")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := h.mustStatus().Phase; got != Ended {
			t.Fatalf("after the deadline the study is %s", got)
		}
		// A client that is late can still read the whole transcript.
		west := parties[2]
		check(t, west.follow(t.Context()))
		if !west.chain.Position().Over {
			t.Error("a late client does not see the end")
		}
		check(t, h.hub.Close())
	})
}

// A write fails during an upload, and the client must then offer the answer again. Once the
// deadline has passed, the coordinator must refuse both further pieces and the answer itself.
func TestUploadAfterDeadlineIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full bool
		o := store.Options{Commit: func(commit func() error) error {
			if full {
				return errKilled
			}
			return commit()
		}}
		h, parties := begun(t, Options{RoundDeadline: 10 * time.Minute, Store: o}, planeText(clientPrivacy, "rounds = 1", twoAreEnough), "north", "south", "west")
		for _, p := range parties {
			p.prepare(t)
		}
		west := parties[2]
		write := func() transport.Reason {
			hash := transcript.BodyOf(west.outbox.Envelope).Hash
			return reasonOf(t, h.study.Write(t.Context(), west.peer, hash, 0, west.outbox.Body))
		}
		_, err := h.study.Offer(t.Context(), west.peer, west.outbox.Envelope, nil)
		check(t, err)
		full = true
		if got := reasonOf(t, parties[0].submit(t.Context(), *parties[0].outbox, 1500)); got != transport.Unavailable {
			t.Errorf("with a full disk: %q", got)
		}
		full = false
		if got := write(); got != transport.Unavailable {
			t.Errorf("after a failed write of the store: %q", got)
		}
		_, err = h.study.Offer(t.Context(), west.peer, west.outbox.Envelope, nil)
		check(t, err)
		for _, p := range parties[:2] {
			check(t, p.submit(t.Context(), *p.outbox, 1500))
		}
		time.Sleep(11 * time.Minute)
		if got := write(); got != transport.Unavailable {
			t.Errorf("after the deadline: %q", got)
		}
		if _, err := h.study.Offer(t.Context(), west.peer, west.outbox.Envelope, nil); reasonOf(t, err) == "" {
			t.Error("an offer after the deadline is accepted")
		}
		check(t, h.hub.Close())
	})
}

//abuse:case A05 fewer answers than min_clients: the round is void, and no sum is published
func TestTooFewAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, parties := begun(t, Options{RoundDeadline: 10 * time.Minute}, planeText(clientPrivacy, "rounds = 1", twoAreEnough), "north", "south", "west")
		play(t, parties[0])
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		p, err := h.study.Posterior(t.Context())
		check(t, err)
		if p.Result.Void != 1 || p.Result.Accepted != 0 {
			t.Errorf("%d outcomes are void", p.Result.Void)
		}
		check(t, h.hub.Close())
	})
}

func TestRoundWaitsForQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, parties := founded(t, Options{RoundDeadline: 10 * time.Minute}, planeText(clientPrivacy, "rounds = 1", twoAreEnough), "north", "south", "west")
		for _, p := range parties {
			check(t, p.join(t.Context()))
			check(t, p.approve(t.Context()))
			time.Sleep(4 * time.Minute) // longer than a client counts as present
		}
		status := h.mustStatus()
		if status.Phase != Running || status.Asked != 0 || !slices.Equal(status.For, []string{"north", "south", "west"}) {
			t.Fatalf("%s, %d rounds, waiting for %v", status.Phase, status.Asked, status.For)
		}
		check(t, parties[0].follow(t.Context()))
		if status = h.mustStatus(); status.Asked != 0 || !slices.Equal(status.For, []string{"south", "west"}) {
			t.Errorf("with one client: %d rounds, waiting for %v", status.Asked, status.For)
		}
		check(t, parties[2].follow(t.Context()))
		synctest.Wait()
		if status = h.mustStatus(); status.Asked != 1 {
			t.Error("with two clients no round was opened")
		}
		check(t, h.hub.Close())
	})
}

// A client that waits for the next entry must receive it at once, without another call.
func TestFollowersAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, parties := founded(t, Options{}, planeText(noPrivacy, "rounds = 1", ""), "north")
		p := parties[0]
		check(t, p.join(t.Context()))
		got := make(chan error, 1)
		go func() {
			_, err := h.study.Entry(t.Context(), p.peer, 1)
			got <- err
		}()
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("returned before there is an entry: %v", err)
		default:
		}
		check(t, p.approve(t.Context()))
		check(t, <-got)
		// A call that waits for an entry must return when its context is done.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := h.study.Entry(ctx, p.peer, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for an entry that does not come: %v", err)
		}
		check(t, h.hub.Close())
	})
}

// A study does not wait for a client that has left. When too few clients remain, it must be
// aborted, and the transcript must give the reason.
//
//abuse:case P04 a client can leave; the study continues while enough clients stay
func TestLeaving(t *testing.T) {
	h, parties := begun(t, Options{}, planeText(clientPrivacy, "rounds = 3", twoAreEnough), "north", "south", "west")
	north, south, west := parties[0], parties[1], parties[2]
	follow(t, parties...)
	check(t, west.leave(t.Context(), "the board said no"))
	check(t, west.leave(t.Context(), "the board said no"))
	if err := west.stepAll(t.Context()); reasonOf(t, err) != transport.Denied {
		t.Errorf("a client that left can answer: %v", err)
	}
	for range 2 {
		check(t, north.stepAll(t.Context()))
		check(t, south.stepAll(t.Context()))
	}
	status := h.mustStatus()
	if status.Asked != 3 {
		t.Errorf("after two rounds without west the study is at %d", status.Asked)
	}
	if i := slices.IndexFunc(status.Clients, func(c ClientStatus) bool { return c.Name == "west" }); status.Clients[i].State != stateLeft || status.Clients[i].Reason != "the board said no" {
		t.Errorf("west is %+v", status.Clients[i])
	}
	check(t, south.leave(t.Context(), ""))
	if status = h.mustStatus(); status.Phase != Aborted || !strings.Contains(status.Reason, "1 clients are left") {
		t.Errorf("with one client the study is %s: %s", status.Phase, status.Reason)
	}
	check(t, north.follow(t.Context()))
	last := north.entries[len(north.entries)-1]
	a, err := transcript.ParseAbortion(last.Body)
	if err != nil || a.By != defaultName {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := h.study.Entry(t.Context(), north.peer, north.chain.Position().Number+1); reasonOf(t, err) != transport.Ended {
		t.Errorf("after the last entry: %v", err)
	}
}

// If the operator begins a study before all clients have consented, the others can no longer take
// part.
//
//abuse:case P10 a client that is not in the first roster stays out
func TestBeginningWithFewer(t *testing.T) {
	h, parties := founded(t, Options{}, planeText(clientPrivacy, "rounds = 1", twoAreEnough), "north", "south", "west")
	if err := h.study.Begin(t.Context()); err == nil {
		t.Error("a study began without a client")
	}
	admit(t, parties[0])
	if err := h.study.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "min_clients") {
		t.Errorf("a study began with too few: %v", err)
	}
	admit(t, parties[1])
	check(t, parties[2].join(t.Context()))
	if got := h.mustStatus(); got.Phase != Gathering || !slices.Equal(got.For, []string{"west"}) {
		t.Errorf("%s, waiting for %v", got.Phase, got.For)
	}
	check(t, h.study.Begin(t.Context()))
	if err := h.study.Begin(t.Context()); err == nil {
		t.Error("it began twice")
	}
	west := parties[2]
	if err := west.approve(t.Context()); reasonOf(t, err) != transport.OutOfPlace {
		t.Errorf("consent after the beginning: %v", err)
	}
	if _, err := h.study.Entry(t.Context(), west.peer, 1); reasonOf(t, err) != transport.Denied {
		t.Errorf("a client that was left out can read the transcript: %v", err)
	}
	if _, err := h.study.Invite(t.Context(), []identity.Name{"east"}, time.Hour); err == nil {
		t.Error("a client was invited after the beginning")
	}
	play(t, parties[0], parties[1])
	if got := h.mustStatus().Phase; got != Ended {
		t.Errorf("the study is %s", got)
	}
}

// A study that is aborted before it begins must say so, even after a restart.
func TestAbortedBeforeItBegan(t *testing.T) {
	h, parties := founded(t, Options{}, planeText(noPrivacy, "rounds = 1", ""), "north", "south")
	check(t, parties[0].join(t.Context()))
	check(t, h.study.Abort(t.Context(), "the wrong document"))
	check(t, h.hub.Close())
	h.open()
	if got := h.mustStatus(); got.Phase != Aborted || !strings.Contains(got.Reason, "the wrong document") {
		t.Errorf("%s: %s", got.Phase, got.Reason)
	}
	if _, err := h.study.Entry(t.Context(), parties[0].peer, 1); reasonOf(t, err) != transport.Ended {
		t.Errorf("the transcript: %v", err)
	}
	if err := parties[1].join(t.Context()); reasonOf(t, err) != transport.Ended {
		t.Errorf("joining: %v", err)
	}
}

//abuse:case P13 the key that opens answers is destroyed when the study ends
func TestSealingKeyIsDestroyed(t *testing.T) {
	h, _ := played(t, planeText(noPrivacy, "rounds = 1", ""))
	path := h.hub.files.sealing(h.study.hash)
	if exists(path) {
		t.Error("the key still exists after the end")
	}
	check(t, h.hub.Close())
	h.open()
	if h.study.opener.key != nil || exists(path) {
		t.Error("the key exists again after a restart")
	}
}

func TestSecondCoordinatorIsRefused(t *testing.T) {
	h := newHouse(t, Options{})
	if _, err := Open(h.dir, Options{}); err == nil || !strings.Contains(err.Error(), "another coordinator") {
		t.Errorf("a second coordinator: %v", err)
	}
}
