package coordinator

import (
	"context"
	"encoding/json"
	"fmt"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// Posterior returns the posterior of a study, or an error if the study was aborted or is not over.
func (s *Study) Posterior(ctx context.Context) (*session.Posterior, error) {
	err := s.call(ctx, func(b *batch) error {
		switch b.state.phase() {
		case Ended:
			return nil
		case Aborted:
			return fmt.Errorf("study %s was aborted: there is no posterior", s.Name())
		}
		return fmt.Errorf("study %s is not over: coordinator status lists the clients that it is waiting for", s.Name())
	})
	if err != nil {
		return nil, err
	}
	var closing transcript.Closing
	err = s.look(func(kept store.Study) (err error) {
		_, body, err := kept.Item(kept.Items())
		if err != nil {
			return err
		}
		closing, err = transcript.ParseClosing(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	var r session.Result
	if err := json.Unmarshal(closing.Result, &r); err != nil {
		return nil, err
	}
	return session.Describe(s.document, &r)
}

// Playable returns an error if there is no set of clients for which the coordinator could run the
// study.
func Playable(st *study.Study) error {
	_, err := largestBody(st)
	return err
}
