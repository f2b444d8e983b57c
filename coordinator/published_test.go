package coordinator

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/coordinator/bundle"
	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/phase"
	"fedpvi/transport"
)

// lowerPublished makes the releases of every study too long for an outcome until the test ends.
func lowerPublished(t *testing.T) {
	most := phase.MaxPublished
	phase.MaxPublished = 1
	t.Cleanup(func() { phase.MaxPublished = most })
}

// Although clients fetch the releases, the bundle must be complete after each kill.
//
//abuse:case A01 releases that clients fetch are kept before their answers are accepted
func TestFetchedKilledAtEveryTransaction(t *testing.T) {
	lowerPublished(t)
	killedEverywhere(t, signedText(1), two, 1, 0, everyOther(1))
}

// releasesOf fetches all releases of the first plan as the client p, and returns them by client.
func releasesOf(t *testing.T, h *house, p *party) map[identity.Name][]byte {
	t.Helper()
	all := map[identity.Name][]byte{}
	check(t, h.study.look(func(kept store.Study) error {
		return kept.Releases(1, func(k store.ReleaseKey, envelope []byte) error {
			member, _ := p.chain.Members().Named(identity.Name(k.Client))
			r, err := p.chain.VerifyRelease(envelope, member.Key, 1, p.models[1])
			check(t, err)
			pieces, err := h.study.Pieces(t.Context(), p.peer, transport.Wanted{Ask: 1, Release: r.Commitment})
			check(t, err)
			b := make([]byte, pieces.Size())
			check(t, pieces.Read(b, 0))
			if sha256.Sum256(b) != r.Commitment {
				t.Errorf("the release of %s has another hash than the signed one", k.Client)
			}
			all[identity.Name(k.Client)] = b
			return nil
		})
	}))
	return all
}

// Only the study's clients may fetch releases. Verify must refuse a bundle in which a release was
// changed, shortened, moved or left out. If the file of a release is missing, the coordinator must
// not start.
//
//abuse:case P02 a release is delivered to the clients of its study alone, by the hash that its client has signed
//abuse:case A21 a fetched release in a bundle that was changed, exchanged or left out: refused, with the plan and the client
func TestFetchedReleases(t *testing.T) {
	lowerPublished(t)
	h, parties := played(t, signedText(1))
	north, south := parties[0], parties[1]
	all := releasesOf(t, h, north)
	sum := make([]int64, len(all["north"])/8)
	for _, release := range all {
		for i := range sum {
			sum[i] += int64(binary.LittleEndian.Uint64(release[8*i:]))
		}
	}
	a, err := transcript.ParseAnswered(north.entries[2].Body)
	check(t, err)
	stated, err := h.study.st.server.SumOf(sessionEntry(transcript.Entry{Kind: "outcome", Ask: 1}, a.Outcome))
	check(t, err)
	for i, n := range sum {
		if stated.Elements[i] != n {
			t.Errorf("element %d of the sum is %d, want %d", i, stated.Elements[i], n)
		}
	}

	hash := Hash(sha256.Sum256(all["south"]))
	wanted := transport.Wanted{Ask: 1, Release: hash}
	for name, c := range map[string]struct {
		peer   channel.Party
		wanted transport.Wanted
		want   transport.Reason
	}{
		"a stranger":   {channel.Party{Study: h.study.Hash(), Role: identity.Client, Name: "east"}, wanted, transport.Denied},
		"another plan": {south.peer, transport.Wanted{Ask: 2, Release: hash}, transport.Unknown},
		"another hash": {south.peer, transport.Wanted{Ask: 1, Release: Hash{1}}, transport.Unknown},
	} {
		if _, err := h.study.Pieces(t.Context(), c.peer, c.wanted); reasonOf(t, err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}

	text := bundleOf(t, h)
	report, err := bundle.Verify(bytes.NewReader(text))
	if err != nil || report.Signed != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	body := text[:len(text)-sha256.Size]
	framed := func(release []byte) []byte {
		return append(binary.BigEndian.AppendUint64(nil, uint64(len(release))), release...)
	}
	changed := func(of identity.Name, at int) []byte {
		release := bytes.Clone(all[of])
		release[at] ^= 1
		return bytes.Replace(body, framed(all[of]), framed(release), 1)
	}
	for name, c := range map[string]struct {
		body []byte
		says string
	}{
		"the first byte": {changed("north", 0), "the release of north in the outcome of plan 1 is not the one"},
		"the last byte":  {changed("south", len(all["south"])-1), "is beyond what the mechanism can yield"},
		"exchanged":      {bytes.Replace(body, append(framed(all["north"]), framed(all["south"])...), append(framed(all["south"]), framed(all["north"])...), 1), "the release of north in the outcome of plan 1"},
		"shorter":        {bytes.Replace(body, framed(all["south"]), framed(all["south"][8:]), 1), "not a complete bundle"},
		"left out":       {bytes.Replace(body, framed(all["south"]), nil, 1), "not a complete bundle"},
	} {
		if bytes.Equal(c.body, body) {
			t.Errorf("%s: nothing was changed", name)
		}
		end := sha256.Sum256(c.body)
		if _, err := bundle.Verify(bytes.NewReader(append(c.body, end[:]...))); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}

	check(t, h.hub.Close())
	files, err := filepath.Glob(filepath.Join(h.dir, "bodies", "*", "*"))
	check(t, err)
	if len(files) != 2 {
		t.Fatalf("%d files, want those of two releases", len(files))
	}
	check(t, os.Remove(files[0]))
	if _, err := Open(h.dir, h.options); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("without the file of a release: %v", err)
	}
}

// If a study began under an earlier version of the program, it must keep the rules of that version:
// when the releases are too long, the outcomes have only the sum, and clients do not fetch
// releases.
func TestStudyBegunBeforeReleasesWereFetched(t *testing.T) {
	h, parties := founded(t, Options{}, signedText(1), two...)
	admit(t, parties...) // the limit is still the usual one, so the first entry is the same as that of an earlier program
	lowerPublished(t)
	play(t, parties...)
	report, err := verified(t, h)
	if err != nil || report.Ending != "end" || report.Answers != 2 || report.Signed != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// The coordinator must remove the releases of a void round. If the study is aborted, it must remove
// those of the open plan.
func TestReleasesThatNobodyFetches(t *testing.T) {
	lowerPublished(t)
	h, parties := begun(t, Options{}, signedText(2), two...)
	north := parties[0]
	check(t, north.link.Submit(t.Context(), north.prepare(t)))
	files := func() int {
		all, err := filepath.Glob(filepath.Join(h.dir, "bodies", "*", "*"))
		check(t, err)
		return len(all)
	}
	if n := files(); n != 1 {
		t.Fatalf("%d files, want one", n)
	}
	check(t, h.study.Abort(t.Context(), "a drill"))
	if n := files(); n != 0 {
		t.Errorf("%d files, want none", n)
	}
	if _, err := verified(t, h); err != nil {
		t.Error(err)
	}
}
