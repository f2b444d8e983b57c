package coordinator

import (
	"context"
	"fmt"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
)

// Exclude excludes a client from the rest of a study, for a reason that all clients can read in the
// transcript. An exclusion cannot be undone. The sums keep the earlier answers of the client. The
// count of consecutive rejected rounds begins again at zero.
//
// With secure aggregation an excluded client counts as missing in later sums. The number of clients
// stays the same, and so does the number that must open a sum.
func (s *Study) Exclude(ctx context.Context, name identity.Name, why string) error {
	return s.call(ctx, func(b *batch) error {
		st := b.state
		c := st.clients[name]
		switch _, err := transcript.Reason(why); {
		case err != nil:
			return err
		case st.over():
			return fmt.Errorf("study %s is over already", s.Name())
		case !st.begun():
			return fmt.Errorf("study %s has not begun: begin it without this client", s.Name())
		case !st.inRoster(name) || c == nil:
			return fmt.Errorf("study %s has no client %s", s.Name(), name)
		case c.left:
			return fmt.Errorf("client %s no longer takes part: %s", name, c.reason)
		}
		if err := s.excludable(st); err != nil {
			return err
		}
		if err := b.exclude(name, c, why); err != nil {
			return b.undo(err)
		}
		return nil
	})
}

// excludable returns an error if an exclusion would leave too few clients to open a sum.
func (s *Study) excludable(st *state) error {
	if len(st.staying()) <= s.fewest(st) {
		return fmt.Errorf("%d clients are left, and the study opens no sum for fewer than %d: end the study with coordinator abort", len(st.staying()), s.fewest(st))
	}
	return nil
}

func (b *batch) exclude(name identity.Name, c *client, why string) error {
	s, st := b.study, b.state
	body := transcript.Abortion{By: name, Reason: why}
	if err := b.signEntry(transcript.Exclude, 0, st.server.Model(), bytesOf(body.Bytes())); err != nil {
		return err
	}
	st.server.Resume()
	st.since, b.moved = b.now, true
	c.left, c.reason = true, excluded(why)
	st.gone++
	st.excluded[name] = why
	b.write(func(kept store.Study) error { return kept.PutNote(noteExcluded, st.excluded) })
	b.then(func() { s.log.Warn("a client was excluded", "client", name, "reason", why) })
	return nil
}

func excluded(why string) string { return "excluded: " + why }

func (s *Study) readExcluded(st *state, kept store.Study) error {
	st.excluded = map[identity.Name]string{}
	if err := kept.Note(noteExcluded, &st.excluded); err != nil {
		return err
	}
	for name, why := range st.excluded {
		c := st.clients[name]
		if c == nil {
			return fmt.Errorf("client %s was excluded, but the study has no client of this name", name)
		}
		if !c.left {
			c.left, st.gone = true, st.gone+1
		}
		c.reason = excluded(why)
	}
	return nil
}

// held returns the reason why a study waits for an order of its operator, which is too many
// rejected rounds in a row, or "" if the study can continue.
func (b *batch) held() string {
	st := b.state
	if st.server == nil || len(st.open) > 0 {
		return ""
	}
	return st.server.Stalled()
}
