package phase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/internal/testing/memory"
)

// encoded returns the bytes of a release.
func encoded(t interface{ Fatal(...any) }, release []int64) []byte {
	var b bytes.Buffer
	if err := WriteRelease(&b, release); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The bytes of releases come in random pieces, with at most one change, for which AddUp names the
// client or the sum.
func TestAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const limit = 1000
		size, clients := rapid.IntRange(1, 20).Draw(rt, "size"), rapid.IntRange(2, 5).Draw(rt, "clients")
		var ids []ClientID
		var signed []Digest
		var releases [][]int64
		var sent [][]byte
		sum := make([]int64, size)
		for m := range clients {
			release := rapid.SliceOfN(rapid.Int64Range(-limit, limit), size, size).Draw(rt, "release")
			for i, n := range release {
				sum[i] += n
			}
			ids, releases = append(ids, ClientID(rune('a'+m))), append(releases, release)
			signed, sent = append(signed, HashOf(release)), append(sent, encoded(rt, release))
		}
		says, m := "", rapid.IntRange(0, clients-1).Draw(rt, "changed")
		change := rapid.SampledFrom([]string{"nothing", "sum", "bytes", "both", "hash", "short", "long", "beyond"}).Draw(rt, "change")
		switch change {
		case "sum":
			sum[0]++
			says = "the sum of plan 1 is not the sum"
		case "bytes", "both":
			// the negative is within the limit too
			other := slices.Clone(releases[m])
			if other[0] = -other[0]; other[0] == 0 {
				other[0] = 1
			}
			sent[m] = encoded(rt, other)
			if change == "both" {
				sum[0] += other[0] - releases[m][0]
			}
			says = "the release of " + string(ids[m])
		case "hash":
			signed[m][31] ^= 1
			says = "the release of " + string(ids[m])
		case "short":
			sent[m] = sent[m][:len(sent[m])-1]
			says = "the release of " + string(ids[m])
		case "long":
			sent[m] = append(sent[m], make([]byte, 8)...)
			says = "beyond what the mechanism"
		case "beyond":
			release := make([]int64, size)
			release[size-1] = limit + 1
			sent[m], signed[m] = encoded(rt, release), HashOf(release)
			says = "beyond what the mechanism"
		}
		err := AddUp("plan 1", ids, signed, sum, limit, func(of ClientID, hash Digest, length int64, w io.Writer) error {
			at := slices.Index(ids, of)
			if hash != signed[at] || length != int64(8*size) {
				rt.Errorf("%s has hash %x and %d bytes", of, hash, length)
			}
			for rest := sent[at]; len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
				if _, err := w.Write(rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		})
		var refused *Refused
		if (err == nil) != (says == "") || err != nil && (!errors.As(err, &refused) || !strings.Contains(err.Error(), says)) {
			rt.Errorf("%v, want %q", err, says)
		}
	})
}

// The releases are just too long for an outcome, with ten times the bytes of the sum. AddUp
// allocates little more than the sum.
func TestAddUpAtRealSize(t *testing.T) {
	const clients = 10
	size := MaxPublished/clients + 1
	element := func(m, i int) int64 { return int64((i*7919+m*104729)%2001 - 1000) }
	var ids []ClientID
	var signed []Digest
	sum := make([]int64, size)
	for m := range clients {
		release := make([]int64, size)
		for i := range release {
			release[i] = element(m, i)
			sum[i] += release[i]
		}
		ids, signed = append(ids, ClientID(rune('a'+m))), append(signed, HashOf(release))
	}
	piece := make([]byte, 0, 32<<10)
	fetch := func(of ClientID, _ Digest, _ int64, w io.Writer) error {
		for i := range size {
			piece = binary.LittleEndian.AppendUint64(piece, uint64(element(slices.Index(ids, of), i)))
			if len(piece) < cap(piece) && i < size-1 {
				continue
			}
			if _, err := w.Write(piece); err != nil {
				return err
			}
			piece = piece[:0]
		}
		return nil
	}
	memory.Within(t, elementSize*uint64(size)+64<<10, func() {
		if err := AddUp("plan 1", ids, signed, sum, 1000, fetch); err != nil {
			t.Error(err)
		}
	})
	sum[size-1]++
	if err := AddUp("plan 1", ids, signed, sum, 1000, fetch); err == nil {
		t.Error("a sum with one step more was accepted")
	}
}

// After an error of the transport, the caller can try again.
func TestAddUpReturnsErrorsOfTheTransport(t *testing.T) {
	lost := errors.New("lost")
	err := AddUp("plan 1", []ClientID{"a"}, make([]Digest, 1), make([]int64, 3), 1, func(ClientID, Digest, int64, io.Writer) error { return lost })
	if !errors.Is(err, lost) {
		t.Error(err)
	}
}
