package daemon

import (
	"context"
	"slices"
	"strings"
	"time"

	"fedpvi/coordinator"
)

// patience is the part of a round's deadline after which the log says again for whom a
// study waits.
const patience = 10

// watch says in the log for whom studies wait, and closes the channel that it returns
// when all are over and their clients know, if that is waited for.
func (s *server) watch(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		every := min(max(s.config.RoundDeadline/patience, time.Second), time.Minute)
		say := time.NewTicker(every)
		defer say.Stop()
		look := time.NewTicker(time.Second / patience)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-say.C:
				s.sayWaits(ctx)
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

// tidy ends the gossip of studies that are over.
func (s *server) tidy() {
	if s.gossip == nil {
		return
	}
	if err := s.gossip.tidy(); err != nil {
		s.config.Log.Warn("the gossip of a study that is over did not end well", "error", err)
	}
}

func (s *server) sayWaits(ctx context.Context) {
	for _, study := range s.hub.Studies() {
		status, err := study.Status(ctx)
		if err != nil || status.Waits == "" {
			continue
		}
		s.config.Log.Info("waiting", "study", study.Name(), "what", status.Waits, "for", strings.Join(status.For, ", "), "since", status.Since.Format(time.RFC3339))
	}
}

// done reports whether every study is over and its clients have seen the end.
func (s *server) done() bool {
	studies := s.hub.Studies()
	return len(studies) > 0 && !slices.ContainsFunc(studies, func(study *coordinator.Study) bool {
		return !study.Over() || len(study.Unaware()) > 0
	})
}
