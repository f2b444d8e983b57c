package invitation

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/secret"
	"fedpvi/internal/testing/canary"
	"fedpvi/internal/testing/memory"
)

var expires = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)

func filled(b byte) (h Hash) {
	for i := range h {
		h[i] = b
	}
	return h
}

func plain() Invitation {
	return Invitation{
		Study: filled(1), Coordinator: filled(2), Pin: filled(3), Name: "st-olav",
		Addresses: []string{"hub.example.org:7443", "[2001:db8::1]:7443"}, Expires: expires,
	}
}

func invite(t testing.TB) (Invitation, Ticket) {
	t.Helper()
	i, ticket, err := New(plain())
	if err != nil {
		t.Fatal(err)
	}
	return i, ticket
}

func same(a, b Invitation) bool { return bytes.Equal(a.bytes(), b.bytes()) }

func TestInvitationsSurviveMail(t *testing.T) {
	i, _ := invite(t)
	text := i.Text()
	if strings.ContainsAny(text, " \n\t") || strings.Trim(text[len(Prefix):], "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("the text does not consist of letters and digits: %s", text)
	}
	var wrapped strings.Builder
	for at := 0; at < len(text); at += 60 {
		wrapped.WriteString("  " + text[at:min(at+60, len(text))] + " \r\n")
	}
	for name, read := range map[string]string{
		"as it is": text, "upper case": strings.ToUpper(text), "wrapped": wrapped.String(), "hard spaces": "\u00a0" + text + "\u00a0",
	} {
		if got, err := Parse(read); err != nil || !same(got, i) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The text was made with Python's hashlib and base64.
func TestFormatOfVersion1(t *testing.T) {
	text, err := os.ReadFile("testdata/invitation-v1.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := plain()
	want.Token = secret.New(bytes.Repeat([]byte{4}, tokenSize))
	got, err := Parse(string(text))
	if err != nil || !same(got, want) || got.Text() != strings.TrimSpace(string(text)) {
		t.Errorf("the format changed: %v, %v", got, err)
	}
}

func TestInvalidInvitationsAreRefused(t *testing.T) {
	for name, change := range map[string]func(i *Invitation){
		"no name":            func(i *Invitation) { i.Name = "" },
		"a path for a name":  func(i *Invitation) { i.Name = "../x" },
		"no address":         func(i *Invitation) { i.Addresses = nil },
		"too many addresses": func(i *Invitation) { i.Addresses = slices.Repeat([]string{"a:1"}, MaxAddresses+1) },
		"no port":            func(i *Invitation) { i.Addresses = []string{"hub.example.org"} },
		"port 0":             func(i *Invitation) { i.Addresses = []string{"hub:0"} },
		"a large port":       func(i *Invitation) { i.Addresses = []string{"hub:65536"} },
		"a port with zeros":  func(i *Invitation) { i.Addresses = []string{"hub:0443"} },
		"a named port":       func(i *Invitation) { i.Addresses = []string{"hub:https"} },
		"no host":            func(i *Invitation) { i.Addresses = []string{":443"} },
		"a space":            func(i *Invitation) { i.Addresses = []string{"hub one:443"} },
		"a line":             func(i *Invitation) { i.Addresses = []string{"hub\n:443"} },
		"a path":             func(i *Invitation) { i.Addresses = []string{"hub/..:443"} },
		"a URI":              func(i *Invitation) { i.Addresses = []string{"unix:/socket:443"} },
		"a hyphen first":     func(i *Invitation) { i.Addresses = []string{"-oProxyCommand:22"} },
		"an empty label":     func(i *Invitation) { i.Addresses = []string{"a..b:443"} },
		"a long label":       func(i *Invitation) { i.Addresses = []string{strings.Repeat("a", 64) + ":443"} },
		"a long host":        func(i *Invitation) { i.Addresses = []string{strings.Repeat("a.", 128) + ":443"} },
		"a zone":             func(i *Invitation) { i.Addresses = []string{"[fe80::1%eth0]:443"} },
		"no end":             func(i *Invitation) { i.Expires = time.Time{} },
	} {
		i := plain()
		change(&i)
		if _, _, err := New(i); err == nil {
			t.Errorf("%s: New accepted the invitation", name)
		}
		i.Token = secret.New(make([]byte, tokenSize))
		if _, err := Parse(i.Text()); !errors.Is(err, ErrForm) {
			t.Errorf("%s: Parse accepted the text: %v", name, err)
		}
	}
}

func TestMalformedTextsAreRefused(t *testing.T) {
	i, _ := invite(t)
	text := i.Text()
	late := i
	late.Expires = time.Unix(maxUnix+1, 0)
	for name, wrong := range map[string]string{
		"nothing":              "",
		"the prefix":           Prefix,
		"another version":      strings.Replace(text, "invite-1-", "invite-2-", 1),
		"no prefix":            text[len(Prefix):],
		"twice":                text + text,
		"a trailing character": text + "a",
		"padding":              text + "====",
		"an invalid digit":     strings.Replace(text, text[len(Prefix):len(Prefix)+1], "1", 1),
		"too long":             text + strings.Repeat(" ", MaxText),
		"after the year 9999":  late.Text(),
	} {
		if _, err := Parse(wrong); !errors.Is(err, ErrForm) || err.Error() != ErrForm.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryChangedCharacterIsDetected(t *testing.T) {
	i, _ := invite(t)
	text := i.Text()
	for at := range text {
		for _, c := range "a7-" {
			changed := text[:at] + string(c) + text[at+1:]
			if _, err := Parse(changed); err == nil && changed != text {
				t.Fatalf("the text was accepted with character %d changed", at)
			}
		}
		if _, err := Parse(text[:at]); err == nil {
			t.Fatalf("the text was accepted without its last %d characters", len(text)-at)
		}
	}
}

//abuse:case P04 after a key has redeemed an invitation, another key is refused
//abuse:case P11 an invitation is redeemed once, by one key
func TestInvitationsAreRedeemedOnce(t *testing.T) {
	i, ticket := invite(t)
	_, another := invite(t)
	tickets := []Ticket{another, ticket}
	before := slices.Clone(tickets)
	key, other := identity.PublicKey{1, 2}, identity.PublicKey{3, 4}
	now := expires.Add(-time.Second)

	redeemed, got, err := Redeem(tickets, i.Study, i.Token.Reveal(), key, now)
	if err != nil || got.Name != "st-olav" || got.Holder != key.Fingerprint() || !got.Used() {
		t.Fatalf("%v, %v", got, err)
	}
	if !slices.Equal(tickets, before) {
		t.Error("Redeem changed its argument")
	}
	if redeemed[0] != another || redeemed[1] != got {
		t.Error("Redeem changed the ticket of another invitation")
	}
	// The party repeats the request after the invitation has expired, as if the first reply had
	// been lost.
	again, got2, err := Redeem(redeemed, i.Study, i.Token.Reveal(), key, expires.Add(time.Hour))
	if err != nil || got2 != got || !slices.Equal(again, redeemed) {
		t.Errorf("the same key: %v, %v", got2, err)
	}
	_, _, err = Redeem(redeemed, i.Study, i.Token.Reveal(), other, now)
	refused(t, "another key", err)
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ErrRefused) || err.Error() != ErrRefused.Error() {
		t.Errorf("%s: %v", what, err)
	}
}

//abuse:case P11 a token that is used or expired is refused
//abuse:case P12 tokens that are unknown, used or expired get the same error
func TestUnusableTokensAreRefused(t *testing.T) {
	i, ticket := invite(t)
	second, secondTicket := invite(t)
	key := identity.PublicKey{1, 2}
	now := expires.Add(-time.Second)
	used := ticket
	used.Holder = identity.Fingerprint{9}
	mine := secondTicket
	mine.Holder = key.Fingerprint()
	elsewhere := ticket
	elsewhere.Study = filled(8)
	for name, tc := range map[string]struct {
		tickets []Ticket
		study   Hash
		token   []byte
		now     time.Time
	}{
		"no tickets":                  {nil, i.Study, i.Token.Reveal(), now},
		"an unknown token":            {[]Ticket{ticket}, i.Study, second.Token.Reveal(), now},
		"half a token":                {[]Ticket{ticket}, i.Study, i.Token.Reveal()[:16], now},
		"no token":                    {[]Ticket{ticket}, i.Study, nil, now},
		"used by another":             {[]Ticket{used}, i.Study, i.Token.Reveal(), now},
		"used and expired":            {[]Ticket{used}, i.Study, i.Token.Reveal(), expires},
		"expired":                     {[]Ticket{ticket}, i.Study, i.Token.Reveal(), expires},
		"of another study":            {[]Ticket{ticket}, filled(8), i.Token.Reveal(), now},
		"moved to a study":            {[]Ticket{elsewhere}, filled(8), i.Token.Reveal(), now},
		"stored for another study":    {[]Ticket{elsewhere}, i.Study, i.Token.Reveal(), now},
		"a party already":             {[]Ticket{ticket, mine}, i.Study, i.Token.Reveal(), now},
		"a party already, in reverse": {[]Ticket{mine, ticket}, i.Study, i.Token.Reveal(), now},
	} {
		tickets, got, err := Redeem(tc.tickets, tc.study, tc.token, key, tc.now)
		refused(t, name, err)
		if tickets != nil || got != (Ticket{}) {
			t.Errorf("%s: Redeem returned a ticket", name)
		}
	}
}

func TestTicketsDoNotShowTokens(t *testing.T) {
	i, ticket := invite(t)
	text, err := json.Marshal(ticket)
	if err != nil {
		t.Fatal(err)
	}
	var got Ticket
	if err := json.Unmarshal(text, &got); err != nil || got != ticket {
		t.Errorf("%s: %v", text, err)
	}
	canary.Absent(t, canary.Shown(ticket), i.Token.Reveal())
	if _, other := invite(t); other.TokenHash == ticket.TokenHash {
		t.Error("two invitations have the same token")
	}
}

//abuse:case P14 verbs, logs and errors do not show the token of an invitation
func TestTokensAreNotShown(t *testing.T) {
	i, _ := invite(t)
	for _, v := range []any{i, &i, struct{ hidden Invitation }{i}, []Invitation{i}} {
		canary.Absent(t, canary.Shown(v), i.Token.Reveal())
	}
	if got := i.LogValue().String(); got != "invitation of st-olav until 2031-05-06T07:08:09Z" {
		t.Errorf("logged as %s", got)
	}
	text := i.Text()
	_, err := Parse(text[:len(text)-1])
	canary.Absent(t, canary.Shown(err), []byte(text[len(Prefix):]))
}

func FuzzParse(f *testing.F) {
	i, _ := invite(f)
	f.Add([]byte(i.Text()))
	f.Add(i.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		memory.Bound(t, len(b), func() { Parse(string(b)) })
		if i, err := Parse(string(b)); err == nil {
			if again, err := Parse(i.Text()); err != nil || !same(i, again) {
				t.Errorf("%q was parsed, but not its Text: %v", b, err)
			}
		}
		if i, err := decode(b); err == nil && !bytes.Equal(i.bytes(), b) {
			t.Errorf("one invitation has two encodings")
		}
	})
}
