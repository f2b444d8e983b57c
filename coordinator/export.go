package coordinator

import (
	"io"
	"maps"
	"slices"

	"fedpvi/coordinator/bundle"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
)

// WriteBundle writes the bundle of the study, as far as it has come, to w. [bundle.Verify] checks
// it.
func (s *Study) WriteBundle(w io.Writer) error {
	return s.hub.store.ViewStudy(s.hash, func(kept store.Study) error {
		out := bundle.NewWriter(w, s.fixed.Document)
		consents, err := kept.All(store.Approval)
		if err != nil {
			return err
		}
		out.Consents(len(consents))
		for _, name := range slices.Sorted(maps.Keys(consents)) {
			out.Consent(name, consents[name])
		}
		answers := 0
		count := func(store.ReleaseKey, []byte) error { answers++; return nil }
		if err := kept.Releases(1, count); err != nil {
			return err
		}
		out.Answers(answers)
		err = kept.Releases(1, func(k store.ReleaseKey, envelope []byte) error {
			out.Answer(k.Ask, k.Client, envelope)
			return nil
		})
		if err != nil {
			return err
		}
		n := kept.Items()
		out.Entries(n)
		for i := uint64(1); i <= n; i++ {
			envelope, body, err := kept.Item(i)
			if err != nil {
				return err
			}
			out.Entry(envelope, body)
			if e, err := transcript.Claims(envelope); err != nil || !e.Kind.Outcome() {
				continue
			}
			claims, err := signed.Claims(envelope)
			if err == nil {
				err = s.writeReleases(out, kept, claims.Round)
			}
			if err != nil {
				return err
			}
		}
		return out.Close()
	})
}
