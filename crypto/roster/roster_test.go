package roster

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/internal/testing/memory"
)

var study = Hash{1, 2, 3}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A party has an identity and its entry in the roster.
type party struct {
	*identity.Identity
	entry Entry
}

func newParty(t testing.TB, name string, role identity.Role) party {
	t.Helper()
	i, err := identity.Generate()
	check(t, err)
	return party{i, entryOf(t, i, name, role)}
}

// entryOf returns an entry with a new pin and recipient.
func entryOf(t testing.TB, i *identity.Identity, name string, role identity.Role) Entry {
	t.Helper()
	key, err := seal.Generate()
	check(t, err)
	recipient := key.Recipient()
	return signedEntry(t, i, study, identity.Name(name), role, sha256.Sum256([]byte(recipient.String())), recipient)
}

func signedEntry(t testing.TB, i *identity.Identity, study Hash, name identity.Name, role identity.Role, pin identity.Pin, recipient seal.Recipient) Entry {
	t.Helper()
	e, err := NewEntry(i, study, name, role, pin, recipient)
	check(t, err)
	return e
}

func newParties(t testing.TB) []party {
	return []party{
		newParty(t, "north", identity.Client),
		newParty(t, "hub", identity.Coordinator),
		newParty(t, "east", identity.Client),
		newParty(t, "south", identity.Client),
	}
}

func entries(parties ...party) []Entry {
	var all []Entry
	for _, p := range parties {
		all = append(all, p.entry)
	}
	return all
}

func newRoster(t testing.TB, parties ...party) *Roster {
	t.Helper()
	r, err := New(study, entries(parties...))
	check(t, err)
	return r
}

func TestParseReturnsTheRoster(t *testing.T) {
	parties := newParties(t)
	r := newRoster(t, parties...)
	got, err := Parse(r.Bytes(), study)
	check(t, err)
	if got.Hash() != r.Hash() || got.Version != 1 || !slices.EqualFunc(got.Entries, r.Entries, sameEntry) {
		t.Error("Parse returned another roster")
	}
	slices.Reverse(parties)
	if newRoster(t, parties...).Hash() != r.Hash() {
		t.Error("the order of the entries changes the roster")
	}
	if got.Coordinator().Name != "hub" {
		t.Errorf("the coordinator is %s", got.Coordinator().Name)
	}
	for _, p := range parties {
		named, ok := got.Named(p.entry.Name)
		if !ok || !sameEntry(named, p.entry) {
			t.Errorf("%s is not found", p.entry.Name)
		}
	}
	if _, ok := got.Named("west"); ok {
		t.Error("a missing name was found")
	}
}

func sameEntry(a, b Entry) bool { return bytes.Equal(a.Bytes(), b.Bytes()) }

func TestLargestRosterFitsInAMessage(t *testing.T) {
	if MaxSize > signed.MaxPayload {
		t.Errorf("%d bytes do not fit in %d", MaxSize, signed.MaxPayload)
	}
	long := newParty(t, strings.Repeat("n", identity.MaxName), identity.Client)
	if n := len(long.entry.Bytes()); n != entrySize {
		t.Errorf("an entry has up to %d bytes, not %d", n, entrySize)
	}
	head := len((&Roster{}).Bytes())
	const revoked = 2 + MaxParties*(4+identity.MaxName)
	if head+MaxParties*entrySize+revoked != MaxSize {
		t.Errorf("%d bytes without entries", head)
	}
}

func TestInvalidEntriesAreRefused(t *testing.T) {
	p := newParty(t, "north", identity.Client)
	other := newParty(t, "south", identity.Client)
	if err := p.entry.Check(study); err != nil {
		t.Fatal(err)
	}
	if err := p.entry.Check(Hash{9}); err == nil {
		t.Error("an entry for another study is valid")
	}
	for name, change := range map[string]func(e *Entry){
		"name":           func(e *Entry) { e.Name = "west" },
		"malformed name": func(e *Entry) { e.Name = "../west" },
		"role":           func(e *Entry) { e.Role = identity.Coordinator },
		"admin":          func(e *Entry) { e.Role = identity.Admin },
		"no role":        func(e *Entry) { e.Role = 0 },
		"key":            func(e *Entry) { e.Key = other.Public() },
		"pin":            func(e *Entry) { e.Pin[31]++ },
		"no pin":         func(e *Entry) { e.Pin = identity.Pin{} },
		"recipient":      func(e *Entry) { e.Recipient = other.entry.Recipient },
		"no recipient":   func(e *Entry) { e.Recipient = seal.Recipient{} },
		"signature":      func(e *Entry) { e.Signature[0] ^= 1 },
		"a key that signs everything": func(e *Entry) {
			e.Key, e.Signature = identity.PublicKey{1}, [identity.SignatureSize]byte{1}
		},
	} {
		e := p.entry
		change(&e)
		if err := e.Check(study); err == nil {
			t.Errorf("%s was changed and the entry is valid", name)
		}
		if _, err := ParseEntry(e.Bytes(), study); err == nil {
			t.Errorf("%s was changed and the entry was read", name)
		}
	}
	if e, err := ParseEntry(p.entry.Bytes(), study); err != nil || !sameEntry(e, p.entry) {
		t.Errorf("the valid entry: %v", err)
	}
	if _, err := ParseEntry(append(p.entry.Bytes(), 0), study); !errors.Is(err, ErrForm) {
		t.Errorf("a trailing byte: %v", err)
	}
	for _, role := range []identity.Role{0, identity.Admin} {
		if _, err := NewEntry(p.Identity, study, "north", role, p.entry.Pin, p.entry.Recipient); err == nil {
			t.Errorf("an entry for %v was made", role)
		}
	}
}

//abuse:case A06 a roster with a name, key, pin or recipient twice is refused
func TestInvalidRostersAreRefused(t *testing.T) {
	parties := newParties(t)
	north, hub, east := parties[0], parties[1], parties[2]
	invalid := newParty(t, "west", identity.Client).entry
	invalid.Pin[0] ^= 1
	thief := newParty(t, "west", identity.Client)
	west := func(study Hash, pin identity.Pin, recipient seal.Recipient) Entry {
		return signedEntry(t, thief.Identity, study, "west", identity.Client, pin, recipient)
	}
	for name, all := range map[string][]Entry{
		"no party":                  nil,
		"no coordinator":            entries(north, east),
		"two coordinators":          entries(hub, newParty(t, "hub-2", identity.Coordinator), north),
		"one name twice":            entries(hub, north, newParty(t, "north", identity.Client)),
		"names that look alike":     entries(hub, newParty(t, "clinic-1", identity.Client), newParty(t, "clinic-l", identity.Client)),
		"one key twice":             {hub.entry, north.entry, entryOf(t, north.Identity, "west", identity.Client)},
		"one pin twice":             {hub.entry, north.entry, west(study, north.entry.Pin, thief.entry.Recipient)},
		"one recipient twice":       {hub.entry, north.entry, west(study, thief.entry.Pin, north.entry.Recipient)},
		"an invalid entry":          {hub.entry, invalid},
		"an entry of another study": {hub.entry, west(Hash{9}, thief.entry.Pin, thief.entry.Recipient)},
		"too many":                  slices.Repeat(entries(north), MaxParties+1),
	} {
		if _, err := New(study, all); err == nil {
			t.Errorf("%s: a roster was made", name)
		}
		// Parse must refuse the same rosters as New.
		r := Roster{Study: study, Version: 1, Entries: all}
		if _, err := Parse(r.Bytes(), study); err == nil {
			t.Errorf("%s: a roster was read", name)
		}
	}
}

// New must check how many entries there are before it verifies their signatures.
func TestPartiesAreCountedFirst(t *testing.T) {
	_, err := New(study, make([]Entry, MaxParties+1))
	if err == nil || !strings.Contains(err.Error(), "1025 parties, more than the limit of 1024") {
		t.Error(err)
	}
}

func TestMalformedEncodingsAreRefused(t *testing.T) {
	r := newRoster(t, newParties(t)...)
	good := r.Bytes()
	const count = len(magic) + 32 + 8 + 32
	for name, b := range map[string][]byte{
		"nothing":                           nil,
		"another magic":                     append([]byte("FPR2"), good[4:]...),
		"trailing bytes":                    append(bytes.Clone(good), 0),
		"fewer entries":                     binary.BigEndian.AppendUint16(bytes.Clone(good[:count]), 0),
		"too long":                          make([]byte, MaxSize+1),
		"unsorted":                          unsorted(*r),
		"version 0":                         (&Roster{Study: study, Entries: r.Entries}).Bytes(),
		"version 2 without a previous hash": (&Roster{Study: study, Version: 2, Entries: r.Entries}).Bytes(),
		"version 1 with a previous hash":    (&Roster{Study: study, Version: 1, Previous: Hash{1}, Entries: r.Entries}).Bytes(),
		"another study":                     (&Roster{Study: Hash{9}, Version: 1, Entries: r.Entries}).Bytes(),
	} {
		if _, err := Parse(b, study); err == nil {
			t.Errorf("%s: a roster was read", name)
		}
	}
	if _, err := Parse(good, Hash{9}); err == nil {
		t.Error("a roster of another study was read")
	}
}

func unsorted(r Roster) []byte {
	r.Entries = slices.Clone(r.Entries)
	slices.Reverse(r.Entries)
	return r.Bytes()
}

// The party has signed every byte of its entry. The rest of a roster is signed only by the
// coordinator.
func TestEveryChangedByteOfAnEntryIsDetected(t *testing.T) {
	good := newParty(t, "north", identity.Client).entry.Bytes()
	for at := range good {
		changed := bytes.Clone(good)
		changed[at] ^= 1
		if _, err := ParseEntry(changed, study); err == nil {
			t.Fatalf("the entry was accepted with byte %d changed", at)
		}
		if at%16 == 0 {
			if _, err := ParseEntry(good[:at], study); err == nil {
				t.Fatalf("the entry was accepted without its last %d bytes", len(good)-at)
			}
		}
	}
}

//abuse:case A12 a false number of entries allocates no memory
func TestFalseNumberOfEntriesAllocatesNoMemory(t *testing.T) {
	b := (&Roster{Study: study, Version: 1}).Bytes()
	copy(b[len(b)-2:], []byte{0xff, 0xff})
	if n := testing.AllocsPerRun(10, func() {
		if _, err := Parse(b, study); !errors.Is(err, ErrForm) {
			t.Error(err)
		}
	}); n > 8 {
		t.Errorf("Parse made %v allocations", n)
	}
}

func TestFormatOfVersion1(t *testing.T) {
	text, err := os.ReadFile("testdata/roster-v1.hex")
	check(t, err)
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	check(t, err)
	r, err := Parse(b, study)
	check(t, err)
	if !bytes.Equal(r.Bytes(), b) || len(r.Entries) != 2 || r.Coordinator().Name != "hub" {
		t.Error("the format changed")
	}
}

func FuzzParse(f *testing.F) {
	good := newRoster(f, newParties(f)...).Bytes()
	f.Add(good)
	f.Add(good[:100])
	f.Fuzz(func(t *testing.T, b []byte) {
		var r *Roster
		var err error
		memory.Bound(t, len(b), func() { r, err = Parse(b, study) })
		if err == nil && !bytes.Equal(r.Bytes(), b) {
			t.Error("one roster has two encodings")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	parties := []party{newParty(b, "hub", identity.Coordinator)}
	for i := range 99 {
		parties = append(parties, newParty(b, "site-"+strings.Repeat("a", i/10+1)+strings.Repeat("b", i%10), identity.Client))
	}
	encoded := newRoster(b, parties...).Bytes()
	for b.Loop() {
		if _, err := Parse(encoded, study); err != nil {
			b.Fatal(err)
		}
	}
}
