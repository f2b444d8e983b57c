package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/internal/testing/memory"
)

var study = sha256.Sum256([]byte("a study document"))

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func filled(b byte) (h Hash) {
	for i := range h {
		h[i] = b
	}
	return h
}

// A federation has a coordinator, a client, their identities and their roster.
type federation struct {
	hub, north *identity.Identity
	members    *roster.Roster
}

func newFederation(t testing.TB) *federation {
	t.Helper()
	f := &federation{}
	var entries []roster.Entry
	for _, p := range []struct {
		name identity.Name
		role identity.Role
		at   **identity.Identity
	}{{"hub", identity.Coordinator, &f.hub}, {"north", identity.Client, &f.north}} {
		key, err := seal.Generate()
		check(t, err)
		*p.at, err = identity.Generate()
		check(t, err)
		e, err := roster.NewEntry(*p.at, study, p.name, p.role, identity.Pin{byte(p.role)}, key.Recipient())
		check(t, err)
		entries = append(entries, e)
	}
	var err error
	f.members, err = roster.New(study, entries)
	check(t, err)
	return f
}

func (f *federation) begin() Chain { return Begin(study, f.hub.Public()) }

// An item is an envelope with its body.
type item struct{ envelope, body []byte }

func (f *federation) script(t testing.TB) []item {
	t.Helper()
	c := f.begin()
	envelope, body, err := c.Open(f.hub, f.members, filled(7), filled(1), false, false)
	check(t, err)
	items := []item{{envelope, body}}
	c = f.follow(t, c, items[0])
	for _, e := range []struct {
		kind Kind
		plan uint64
	}{{"scale-plan", 1}, {"scale-outcome", 1}, {"plan", 2}, {Cut, 2}, {Certificate, 2}, {Opening, 2}, {"outcome", 2}, {End, 0}} {
		body := []byte("body of " + string(e.kind))
		envelope, err := c.Sign(f.hub, e.kind, e.plan, filled(byte(e.plan)), body)
		check(t, err)
		items = append(items, item{envelope, body})
		c = f.follow(t, c, items[len(items)-1])
	}
	return items
}

func (f *federation) follow(t testing.TB, c Chain, i item) Chain {
	t.Helper()
	c, _, err := c.Follow(i.envelope, i.body)
	check(t, err)
	return c
}

func TestChainFollowsATranscript(t *testing.T) {
	f := newFederation(t)
	items := f.script(t)
	c := f.begin()
	for n, i := range items {
		next, e, err := c.Follow(i.envelope, i.body)
		check(t, err)
		if e.Number != uint64(n+1) || e.Previous != c.Position().Head || e.Hash != sha256.Sum256(i.envelope) || e.Body != BodyOf(i.body) {
			t.Errorf("entry %d is %+v", n+1, e)
		}
		// A chain that continues from the stored position must give the same results.
		if n == 3 {
			other := f.follow(t, f.begin(), items[0]).At(c.Position())
			if again, _, err := other.Follow(i.envelope, i.body); err != nil || again.Position() != next.Position() {
				t.Errorf("a chain at a stored position does not continue: %v", err)
			}
		}
		c = next
	}
	want := Position{9, sha256.Sum256(items[8].envelope), true}
	if c.Position() != want || c.Protocol() != filled(7) || c.Members().Hash() != f.members.Hash() {
		t.Errorf("at the end: %+v", c.Position())
	}
}

// signs returns an item with an entry and a body that the coordinator has signed. Unless it is nil,
// change modifies the header before that.
func signs(t *testing.T, f *federation, e Entry, body string, change func(h *signed.Header)) item {
	t.Helper()
	e.Body = BodyOf([]byte(body))
	h := signed.Header{
		Version: 1, Domain: e.Kind.domain(), Study: study, Protocol: filled(7),
		Round: e.Ask, Model: e.Model, Roster: f.members.Hash(),
	}
	if change != nil {
		change(&h)
	}
	envelope, err := signed.Sign(f.hub, h, e.payload())
	check(t, err)
	return item{envelope, []byte(body)}
}

//abuse:case A02 an entry is refused at every other place of the transcript
//abuse:case P10 a second roster in the transcript is refused
func TestMisplacedEntriesAreRefused(t *testing.T) {
	f, stranger := newFederation(t), newFederation(t)
	items := f.script(t)
	begun := f.follow(t, f.begin(), items[0])
	over := begun
	for _, i := range items[1:] {
		over = f.follow(t, over, i)
	}
	second := Entry{Number: 2, Kind: "plan", Ask: 1, Previous: sha256.Sum256(items[0].envelope)}
	with := func(change func(e *Entry)) Entry { e := second; change(&e); return e }
	foreign := stranger.script(t)[0]
	for name, tc := range map[string]struct {
		from Chain
		next item
		err  error
	}{
		"nothing":                            {begun, item{}, signed.ErrForm},
		"an entry again":                     {begun, items[0], ErrOrder},
		"an entry left out":                  {begun, items[2], ErrOrder},
		"an entry after the end":             {over, items[1], ErrOver},
		"another predecessor":                {begun, signs(t, f, with(func(e *Entry) { e.Previous[0]++ }), "", nil), ErrOrder},
		"another number":                     {begun, signs(t, f, with(func(e *Entry) { e.Number = 3 }), "", nil), ErrOrder},
		"no roster first":                    {f.begin(), signs(t, f, Entry{Number: 1, Kind: "plan", Ask: 1}, "", nil), ErrKind},
		"a second roster":                    {begun, signs(t, f, with(func(e *Entry) { e.Kind, e.Ask = Roster, 0 }), string(f.members.Bytes()), nil), roster.ErrForm},
		"a cut without the number of a plan": {begun, signs(t, f, with(func(e *Entry) { e.Kind, e.Ask = Cut, 0 }), "", nil), ErrKind},
		"a cut signed as a plan":             {begun, signs(t, f, with(func(e *Entry) { e.Kind = Cut }), "", func(h *signed.Header) { h.Domain = signed.Plan }), ErrForm},
		"a plan without a number":            {begun, signs(t, f, with(func(e *Entry) { e.Ask = 0 }), "", nil), ErrKind},
		"an end with the number of a plan":   {begun, signs(t, f, with(func(e *Entry) { e.Kind = End }), "", nil), ErrKind},
		"another body":                       {begun, item{items[1].envelope, items[2].body}, ErrBody},
		"no body":                            {begun, item{items[1].envelope, nil}, ErrBody},
		"a body cut":                         {begun, item{items[1].envelope, items[1].body[1:]}, ErrBody},
		"another coordinator":                {f.begin(), foreign, signed.ErrSender},
		"a client's signature":               {begun, clientSigns(t, f, second), signed.ErrSender},
		"another study":                      {begun, signs(t, f, second, "", func(h *signed.Header) { h.Study[0]++ }), signed.ErrStudy},
		"another protocol":                   {begun, signs(t, f, second, "", func(h *signed.Header) { h.Protocol[0]++ }), signed.ErrProtocol},
		"another roster":                     {begun, signs(t, f, second, "", func(h *signed.Header) { h.Roster[0]++ }), signed.ErrRoster},
		"a plan signed as an outcome":        {begun, signs(t, f, second, "", func(h *signed.Header) { h.Domain = signed.Outcome }), ErrForm},
		"a plan with a ledger":               {begun, signs(t, f, second, "", func(h *signed.Header) { h.LedgerSeq = 1 }), ErrForm},
		"a plan with a head":                 {begun, signs(t, f, second, "", func(h *signed.Header) { h.LedgerHead[0] = 1 }), ErrForm},
		"a malformed roster":                 {f.begin(), signs(t, f, Entry{Number: 1, Kind: Roster}, "roster", nil), roster.ErrForm},
		"a roster other than its header":     {f.begin(), signs(t, f, Entry{Number: 1, Kind: Roster}, string(f.members.Bytes()), func(h *signed.Header) { h.Roster[0]++ }), ErrRoster},
		"a roster of another coordinator":    {f.begin(), signs(t, f, Entry{Number: 1, Kind: Roster}, string(stranger.members.Bytes()), func(h *signed.Header) { h.Roster = stranger.members.Hash() }), ErrRoster},
	} {
		got, e, err := tc.from.Follow(tc.next.envelope, tc.next.body)
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, not %v", name, err, tc.err)
		}
		if got != tc.from || e != (Entry{}) {
			t.Errorf("%s: Follow advanced the chain", name)
		}
	}
}

func clientSigns(t *testing.T, f *federation, e Entry) item {
	e.Body = BodyOf(nil)
	h := signed.Header{Version: 1, Domain: signed.Plan, Study: study, Protocol: filled(7), Round: 1, Roster: f.members.Hash()}
	envelope, err := signed.Sign(f.north, h, e.payload())
	check(t, err)
	return item{envelope: envelope}
}

func TestMisplacedEntriesAreNotSigned(t *testing.T) {
	f := newFederation(t)
	items := f.script(t)
	begun := f.follow(t, f.begin(), items[0])
	for name, try := range map[string]func() ([]byte, error){
		"a plan before the roster": func() ([]byte, error) { return f.begin().Sign(f.hub, "plan", 1, Hash{}, nil) },
		"a roster in the middle": func() ([]byte, error) {
			e, _, err := begun.Open(f.hub, f.members, Hash{}, Hash{}, false, false)
			return e, err
		},
		"an unknown kind":       func() ([]byte, error) { return begun.Sign(f.hub, "vote", 1, Hash{}, nil) },
		"a kind with a capital": func() ([]byte, error) { return begun.Sign(f.hub, "Scale-plan", 1, Hash{}, nil) },
		"a long kind": func() ([]byte, error) {
			return begun.Sign(f.hub, Kind(strings.Repeat("a", 30)+"-plan"), 1, Hash{}, nil)
		},
		"an outcome without a plan":        func() ([]byte, error) { return begun.Sign(f.hub, "outcome", 0, Hash{}, nil) },
		"an end with the number of a plan": func() ([]byte, error) { return begun.Sign(f.hub, End, 1, Hash{}, nil) },
	} {
		if envelope, err := try(); err == nil || envelope != nil {
			t.Errorf("%s was signed", name)
		}
	}
}

// The bytes were made with Python's struct module.
func TestFormatOfVersion1(t *testing.T) {
	text, err := os.ReadFile("testdata/v1.txt")
	check(t, err)
	known := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		if name, digits, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			known[name], err = hex.DecodeString(digits)
			check(t, err)
		}
	}
	entry := Entry{Number: 258, Kind: "scale-plan", Previous: filled(3), Body: Body{772, filled(4)}}
	closing := Closing{Result: []byte("result"), Receipts: []Receipt{
		{"north", 1, filled(5), 6, filled(7)}, {"west-2", 1, filled(8), 9, filled(10)},
	}}
	abortion := Abortion{"hub", "too few"}
	var written bytes.Buffer
	result := func(w io.Writer) error { _, err := w.Write(closing.Result); return err }
	check(t, WriteClosing(&written, len(closing.Result), result, closing.Receipts))
	if !bytes.Equal(written.Bytes(), closingBytes(closing)) {
		t.Errorf("WriteClosing wrote %x", &written)
	}
	for name, got := range map[string][]byte{
		"entry": entry.payload(), "release": Release{Body: BodyOf([]byte("body"))}.payload(),
		"closing": closingBytes(closing), "abortion": abortion.Bytes(),
		"committed release":       Release{Body: BodyOf([]byte("body")), Commitment: filled(5)}.payload(),
		"answered":                Answered{Outcome: []byte("sum"), Envelopes: [][]byte{{1}, {2, 3}}}.Bytes(),
		"roster with commitments": Entry{Number: 1, Kind: Roster, Body: Body{772, filled(4)}, Commits: true}.payload(),
	} {
		if !bytes.Equal(got, known[name]) {
			t.Errorf("the encoding of %s changed:\n%x", name, got)
		}
	}
	if e, err := parsePayload(known["entry"]); err != nil || e != entry {
		t.Errorf("%+v, %v", e, err)
	}
	if a, err := ParseAbortion(known["abortion"]); err != nil || a != abortion {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestMalformedPayloadsAreRefused(t *testing.T) {
	closing := Closing{Receipts: []Receipt{{Client: "a", Ask: 1}, {Client: "b", Ask: 1}, {Client: "a", Ask: 2}}}
	read := map[string]func(b []byte) error{
		"entry":    func(b []byte) error { _, err := parsePayload(b); return err },
		"release":  func(b []byte) error { _, err := parseRelease(b); return err },
		"closing":  func(b []byte) error { _, err := ParseClosing(b); return err },
		"abortion": func(b []byte) error { _, err := ParseAbortion(b); return err },
		"answered": func(b []byte) error { _, err := ParseAnswered(b); return err },
	}
	for name, good := range map[string][]byte{
		"entry":   Entry{Number: 1, Kind: Roster}.payload(),
		"release": Release{Body: BodyOf(nil)}.payload(),
		"closing": closingBytes(closing), "abortion": Abortion{By: "hub"}.Bytes(),
		"answered": Answered{Outcome: []byte("sum"), Envelopes: [][]byte{{1}, {2, 3}}}.Bytes(),
	} {
		if err := read[name](good); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for at := range good {
			if read[name](good[:at]) == nil {
				t.Errorf("%s was accepted without its last %d bytes", name, len(good)-at)
			}
		}
		if read[name](append(bytes.Clone(good), 0)) == nil {
			t.Errorf("%s was accepted with a trailing byte", name)
		}
		other := bytes.Clone(good)
		other[0] += 3
		if read[name](other) == nil {
			t.Errorf("%s of a future version was accepted", name)
		}
	}
	twice := Closing{Receipts: []Receipt{{Client: "a", Ask: 1}, {Client: "a", Ask: 1}}}
	many := append(wire.AppendUint64(closingBytes(Closing{})[:5], MaxReceipts), make([]byte, 200)...)
	large := Body{Size: MaxBody + 1}.Append([]byte{version})
	for name, err := range map[string]error{
		"a receipt twice": read["closing"](closingBytes(twice)), "more receipts than bytes": read["closing"](many),
		"a body that is too large": read["release"](large),
		"number 0":                 read["entry"](Entry{Kind: Roster}.payload()),
	} {
		if !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Entry{Number: 1, Kind: Roster}.payload())
	f.Add(closingBytes(Closing{Result: []byte("r"), Receipts: []Receipt{{Client: "a", Ask: 1}}}))
	f.Add(Abortion{"hub", "why"}.Bytes())
	f.Add(Release{}.payload())
	f.Add(Release{Commitment: filled(1)}.payload())
	f.Add(Entry{Number: 1, Kind: Roster, Commits: true}.payload())
	f.Add(Answered{Outcome: []byte("sum"), Envelopes: [][]byte{{1}, {2, 3}}}.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		memory.Bound(t, 5*len(b), func() { // each of the five parsers may allocate len(b) bytes
			parsePayload(b)
			ParseClosing(b)
			ParseAbortion(b)
			parseRelease(b)
			ParseAnswered(b)
		})
		if e, err := parsePayload(b); err == nil && !bytes.Equal(e.payload(), b) {
			t.Error("one entry has two encodings")
		}
		if c, err := ParseClosing(b); err == nil && !bytes.Equal(closingBytes(c), b) {
			t.Error("one closing has two encodings")
		}
		if a, err := ParseAbortion(b); err == nil && !bytes.Equal(a.Bytes(), b) {
			t.Error("one abortion has two encodings")
		}
		if r, err := parseRelease(b); err == nil && !bytes.Equal(r.payload(), b) {
			t.Error("one release has two encodings")
		}
		if a, err := ParseAnswered(b); err == nil && !bytes.Equal(a.Bytes(), b) {
			t.Error("one answered outcome has two encodings")
		}
	})
}

// closingBytes returns the encoding of c that WriteClosing should write.
func closingBytes(c Closing) []byte {
	b := wire.AppendBytes([]byte{version}, c.Result)
	return appendReceipts(b, c.Receipts)
}
