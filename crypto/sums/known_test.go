package sums

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedpvi/crypto/sums/field"
	"fedpvi/crypto/sums/packed"
	"fedpvi/crypto/transcript"
)

// A known is a federation from testdata/known.txt with the messages that it must produce.
type known struct {
	f            *Federation
	cut, holders []int
	vectors      map[int][]int64
	deals        map[int][]byte
	shares       map[int][]byte
	sum          []int64
	cutEntry     []byte
}

func integers[T int | int64](t testing.TB, text string) (all []T) {
	for _, field := range strings.Fields(text) {
		v, err := strconv.ParseInt(field, 10, 64)
		check(t, err)
		all = append(all, T(v))
	}
	return all
}

func fromHex(t testing.TB, text string) []byte {
	b, err := hex.DecodeString(text)
	check(t, err)
	return b
}

// readKnown returns the federations in testdata/known.txt. The values on other lines are in rest.
func readKnown(t testing.TB) (all []*known, rest map[string][]byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/known.txt")
	check(t, err)
	rest = map[string][]byte{}
	var k *known
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		name, number, _ := strings.Cut(name, " ")
		place, _ := strconv.Atoi(number)
		switch name {
		case "federation":
			n := integers[int](t, value)
			s, err := packed.New(n[0], n[1])
			check(t, err)
			k = &known{vectors: map[int][]int64{}, deals: map[int][]byte{}, shares: map[int][]byte{}}
			k.f = &Federation{scheme: s, length: n[2], words: s.Words(n[2])}
			all = append(all, k)
		case "cut":
			if number == "entry" {
				k.cutEntry = fromHex(t, value)
			} else {
				k.cut = integers[int](t, value)
			}
		case "holders":
			k.holders = integers[int](t, value)
		case "vector":
			k.vectors[place] = integers[int64](t, value)
		case "sum":
			k.sum = integers[int64](t, value)
		case "deal", "share":
			if number == "payload" {
				rest[name] = fromHex(t, value)
			} else if name == "deal" {
				k.deals[place] = fromHex(t, value)
			} else {
				k.shares[place] = fromHex(t, value)
			}
		case "confirm":
			rest[name] = fromHex(t, value)
		}
	}
	return all, rest
}

func hashOf(text string, places ...byte) Hash {
	return sha256.Sum256(append([]byte(text), places...))
}

// pairKeys returns one key for each client j. It belongs to the dealer and holder in pair(j).
func pairKeys(clients int, pair func(j byte) (dealer, holder byte)) []key {
	keys := make([]key, clients)
	for j := range keys {
		dealer, holder := pair(byte(j + 1))
		keys[j] = key(hashOf("pair key", dealer, holder))
	}
	return keys
}

func TestKnownDealsAndSums(t *testing.T) {
	all, _ := readKnown(t)
	if len(all) != 3 {
		t.Fatalf("%d federations", len(all))
	}
	for _, k := range all {
		var cut []Dealt
		owns := map[int][]uint64{}
		for _, i := range k.cut {
			salt := hashOf("salt", byte(i))
			cut = append(cut, Dealt{i, salt})
			keys := pairKeys(k.f.scheme.Clients, func(j byte) (byte, byte) { return byte(i), j })
			got, own := k.f.deal(dealing{hashOf("plan"), i, salt}, k.f.scheme.Dealing(i), keys, k.vectors[i])
			owns[i] = own
			if !bytes.Equal(got, k.deals[i]) {
				t.Errorf("client %d of %d deals\n%x, want\n%x", i, k.f.scheme.Clients, got, k.deals[i])
			}
		}
		if !bytes.Equal(cutBytes(cut), k.cutEntry) {
			t.Errorf("the cut is %x, want %x", cutBytes(cut), k.cutEntry)
		}
		var shares []share
		for _, j := range k.holders {
			keys := pairKeys(k.f.scheme.Clients, func(i byte) (byte, byte) { return i, byte(j) })
			sum, err := k.f.gather(j, owns[j], keys, hashOf("plan"), cut, piecesOf(k.f, cut, k.deals, j))
			check(t, err)
			words := make([]byte, k.f.ShareSize())
			putWords(words, sum)
			if !bytes.Equal(words, k.shares[j]) {
				t.Errorf("client %d of %d shares %x, want %x", j, k.f.scheme.Clients, words, k.shares[j])
			}
			shares = append(shares, share{signature{place: j}, words})
		}
		if got, err := k.f.sum(shares); err != nil || !slices.Equal(got, k.sum) {
			t.Errorf("the sum is %v, %v, want %v", got, err, k.sum)
		}
	}
}

// piecesOf returns copies of a holder's parts of all deals in the cut, in order.
func piecesOf(f *Federation, cut []Dealt, deals map[int][]byte, holder int) (all []byte) {
	for _, d := range cut {
		at, size := f.Column(d.Place, holder)
		all = append(all, deals[d.Place][at:at+size]...)
	}
	return all
}

func TestKnownPayloads(t *testing.T) {
	_, rest := readKnown(t)
	for name, got := range map[string][]byte{
		"confirm": confirmPayload(hashOf("cut")),
		"share":   sharePayload(hashOf("certificate"), []byte("words")),
		"deal":    dealPayload(transcript.Body{Size: 4, Hash: hashOf("body")}, hashOf("plan"), hashOf("salt", 1)),
	} {
		if !bytes.Equal(got, rest[name]) {
			t.Errorf("%s: %x, want %x", name, got, rest[name])
		}
	}
}

func TestStreamSkipsWords(t *testing.T) {
	b := make([]byte, 4*wordSize)
	putWords(b, []uint64{1, field.P, 1<<61 | 2, 1<<64 - 1})
	words := make([]uint64, 4)
	if getBits(words, b) {
		t.Error("words beyond the field were not noticed")
	}
	if n := skip(words); n != 2 || words[0] != 1 || words[1] != 2 {
		t.Errorf("%d words: %v", n, words)
	}
}

// The words of a derived column must not depend on the size of the blocks in which they are read.
func TestStreamInBlocks(t *testing.T) {
	d := dealing{hashOf("plan"), 1, hashOf("salt")}
	whole, parts := make([]uint64, packed.Block), make([]uint64, packed.Block)
	d.stream(key{1}, 2).read(whole)
	s := d.stream(key{1}, 2)
	s.read(parts[:7])
	s.read(parts[7:])
	if !slices.Equal(whole, parts) {
		t.Error("the words depend on the blocks")
	}
	for _, other := range []struct {
		d      dealing
		pair   key
		holder int
	}{
		{dealing{hashOf("plan 2"), 1, hashOf("salt")}, key{1}, 2},
		{dealing{hashOf("plan"), 2, hashOf("salt")}, key{1}, 2},
		{dealing{hashOf("plan"), 1, hashOf("salt 2")}, key{1}, 2},
		{d, key{2}, 2},
		{d, key{1}, 3},
	} {
		x := make([]uint64, 1)
		other.d.stream(other.pair, other.holder).read(x)
		if x[0] == whole[0] {
			t.Errorf("%v makes the words of another deal", other)
		}
	}
	uses := map[string]bool{}
	for _, use := range []string{columnUse, sealUse, tagUse} {
		uses[fmt.Sprintf("%x", d.derive(key{1}, 2, use))] = true
	}
	if len(uses) != 3 {
		t.Error("two uses have one key")
	}
}
