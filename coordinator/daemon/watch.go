package daemon

import (
	"context"
	"slices"
	"strings"
	"time"

	"fedpvi/coordinator"
)

// patience is how often per round deadline the daemon logs the clients that studies are waiting
// for. The interval is at least a second and at most a minute.
const patience = 10

// watch regularly logs the clients that studies are waiting for. With UntilDone, it closes the
// returned channel as soon as done returns true.
func (s *server) watch(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		every := min(max(s.config.RoundDeadline/patience, time.Second), time.Minute)
		wait := time.NewTicker(every)
		defer wait.Stop()
		look := time.NewTicker(time.Second / patience)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-wait.C:
				s.logWaits(ctx)
				s.tidy()
			case <-look.C:
				if s.config.UntilDone && s.done() {
					close(over)
					return
				}
			}
		}
	}()
	return over
}

func (s *server) tidy() {
	if s.gossip == nil {
		return
	}
	if err := s.gossip.end((*coordinator.Study).Over); err != nil {
		s.config.Log.Warn("cannot stop the gossip of a study that is over", "error", err)
	}
}

func (s *server) logWaits(ctx context.Context) {
	if s.config.UntilDone && s.over() {
		s.config.Log.Info("every study is over, waiting until the clients have read the last entry and left")
	}
	for _, study := range s.hub.Studies() {
		status, err := study.Status(ctx)
		if err != nil || status.Waits == "" {
			continue
		}
		s.config.Log.Info("waiting", "study", study.Name(), "what", status.Waits, "for", strings.Join(status.For, ", "), "since", status.Since.Format(time.RFC3339))
	}
}

func (s *server) over() bool {
	studies := s.hub.Studies()
	return len(studies) > 0 && !slices.ContainsFunc(studies, func(study *coordinator.Study) bool { return !study.Over() })
}

// done reports whether every study is over, all its clients have received the last entry, and no
// client is connected. A client closes its connection when it has read the last entry. Until then,
// the entry may be in a buffer of the network while the client tries to send a message of the last
// round. If the daemon stopped then, the client would lose the entry and wait for ever.
func (s *server) done() bool {
	unaware := func(study *coordinator.Study) bool { return len(study.Unaware()) > 0 }
	return s.over() && !slices.ContainsFunc(s.hub.Studies(), unaware) && !s.clients.Connected()
}
