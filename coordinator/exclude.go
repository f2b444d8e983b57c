package coordinator

import (
	"context"
	"fmt"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
)

// Exclude excludes a client from the rest of a study, and gives the reason in the transcript. This
// cannot be undone. The client's earlier answers stay in the sums. The study starts to count
// consecutive rejected rounds from zero again.
//
// With secure aggregation, an excluded client counts as missing in later sums, and it takes as many
// clients as before to open a sum.
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

// excludable returns an error if too few clients to open a sum would remain after an exclusion.
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

// held returns the reason why a study waits for an order from its operator: too many rejected
// rounds in a row. If the study can continue, held returns "".
func (b *batch) held() string {
	st := b.state
	if st.server == nil || len(st.open) > 0 {
		return ""
	}
	return st.server.Stalled()
}
