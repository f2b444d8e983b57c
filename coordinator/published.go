package coordinator

import (
	"fmt"
	"io"

	"fedpvi/coordinator/bundle"
	"fedpvi/coordinator/store"
	"fedpvi/transport"
)

// If a round's releases are too long for the outcome, the coordinator keeps each in a file. Other
// clients request a release by its hash, which its client has signed.

func (s *Study) published(ask uint64, hash Hash) (transport.Pieces, error) {
	var found *store.Value
	err := s.look(func(kept store.Study) error {
		return kept.Published(ask, func(v *store.Value) error {
			if v.Hash == hash {
				found = v
			}
			return nil
		})
	})
	if err == nil && found == nil {
		err = refuse(transport.Unknown, "there is no release with this hash for plan %d", ask)
	}
	if err != nil {
		return nil, err
	}
	return s.file(found), nil
}

// writeReleases writes a plan's releases to a bundle if clients fetch them one by one.
func (s *Study) writeReleases(out *bundle.Writer, kept store.Study, ask uint64) error {
	return kept.Published(ask, func(v *store.Value) error {
		n, err := io.Copy(out.Release(v.Size), io.NewSectionReader(s.file(v), 0, v.Size))
		if err == nil && n < v.Size {
			err = fmt.Errorf("%w: a published release is too short", store.ErrDamaged)
		}
		return err
	})
}
