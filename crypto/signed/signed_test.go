package signed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/cryptotest"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/internal/testing/memory"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newIdentity(t testing.TB) *identity.Identity {
	t.Helper()
	i, err := identity.Generate()
	check(t, err)
	return i
}

func filled(b byte) (h Hash) {
	for i := range h {
		h[i] = b
	}
	return h
}

// header returns a header in which each field has a different value.
func header() Header {
	return Header{
		Version: 1, Domain: Plan, Study: filled(1), Protocol: filled(2), Round: 7,
		Model: filled(3), Roster: filled(4), LedgerSeq: 9, LedgerHead: filled(5),
	}
}

func sign(t testing.TB, i *identity.Identity, h Header, payload string) []byte {
	t.Helper()
	envelope, err := Sign(i, h, []byte(payload))
	check(t, err)
	return envelope
}

func TestVerifyReturnsSignedMessage(t *testing.T) {
	i := newIdentity(t)
	for _, payload := range []string{"", "payload", strings.Repeat("x", MaxPayload)} {
		envelope := sign(t, i, header(), payload)
		m, err := Verify(envelope, i.Public(), header())
		check(t, err)
		want := header()
		want.Sender = i.Fingerprint()
		if m.Header != want || string(m.Payload) != payload || m.Hash != sha256.Sum256(envelope) {
			t.Errorf("%+v with %d bytes", m.Header, len(m.Payload))
		}
		if n := len(envelope) - len(payload); n > Overhead {
			t.Errorf("an envelope adds %d bytes", n)
		}
		if h, err := Claims(envelope); err != nil || h != want {
			t.Errorf("Claims returns %+v, %v", h, err)
		}
	}
}

// The envelope was made with Python's cryptography package. The seed of the identity is the bytes 0
// to 31.
func TestKnownEnvelope(t *testing.T) {
	text, err := os.ReadFile("testdata/envelope-v1.hex")
	check(t, err)
	want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	check(t, err)
	var key identity.PublicKey
	check(t, key.UnmarshalText([]byte("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")))
	m, err := Verify(want, key, header())
	if err != nil || string(m.Payload) != "payload" {
		t.Fatalf("%q, %v", m.Payload, err)
	}
	m.Header.Sender = key.Fingerprint()
	got := wire.AppendBytes(m.Header.Bytes(), "payload")
	if !bytes.Equal(got, want[:len(want)-identity.SignatureSize]) {
		t.Errorf("the format changed:\n%x", got)
	}
}

//abuse:case A10 a message is refused if a field of its header differs from the expected value
func TestUnexpectedMessagesAreRefused(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	i, other := newIdentity(t), newIdentity(t)
	good := sign(t, i, header(), "payload")
	for name, tc := range map[string]struct {
		envelope []byte
		key      identity.PublicKey
		want     func(h *Header)
		err      error
	}{
		"nothing":                   {nil, i.Public(), nil, ErrForm},
		"trailing bytes":            {append(bytes.Clone(good), 0), i.Public(), nil, ErrForm},
		"two messages":              {append(bytes.Clone(good), good...), i.Public(), nil, ErrForm},
		"too large":                 {make([]byte, MaxPayload+Overhead+1), i.Public(), nil, ErrForm},
		"another magic":             {append([]byte("FPS2"), good[4:]...), i.Public(), nil, ErrForm},
		"signed by another":         {sign(t, other, header(), "payload"), i.Public(), nil, ErrSender},
		"another domain":            {good, i.Public(), func(h *Header) { h.Domain = Outcome }, ErrDomain},
		"another version":           {good, i.Public(), func(h *Header) { h.Version = 2 }, ErrVersion},
		"another study":             {good, i.Public(), func(h *Header) { h.Study[31]++ }, ErrStudy},
		"another protocol":          {good, i.Public(), func(h *Header) { h.Protocol[31]++ }, ErrProtocol},
		"an earlier round":          {good, i.Public(), func(h *Header) { h.Round++ }, ErrRound},
		"a later round":             {good, i.Public(), func(h *Header) { h.Round-- }, ErrRound},
		"another model":             {good, i.Public(), func(h *Header) { h.Model[31]++ }, ErrModel},
		"another roster":            {good, i.Public(), func(h *Header) { h.Roster[31]++ }, ErrRoster},
		"another party's signature": {unchecked(other, func(h *Header) { h.Sender = i.Fingerprint() }), i.Public(), nil, ErrSignature},
		"a future version":          {unchecked(i, func(h *Header) { h.Version = MaxVersion + 1 }), i.Public(), nil, ErrVersion},
		"no version":                {unchecked(i, func(h *Header) { h.Version = 0 }), i.Public(), nil, ErrVersion},
		"an unknown domain":         {unchecked(i, func(h *Header) { h.Domain = "fedpvi/v1/other" }), i.Public(), nil, ErrDomain},
		"no domain":                 {withoutDomain(i), i.Public(), nil, ErrDomain},
		"a domain that is too long": {unchecked(i, func(h *Header) { h.Domain = identity.Domain(strings.Repeat("d", maxDomain+1)) }), i.Public(), nil, ErrForm},
		"a domain with a suffix":    {unchecked(i, func(h *Header) { h.Domain = Plan + "s" }), i.Public(), nil, ErrDomain},
	} {
		want := header()
		if tc.want != nil {
			tc.want(&want)
		}
		m, err := Verify(tc.envelope, tc.key, want)
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, not %v", name, err, tc.err)
		}
		if m.Payload != nil || m.Header != (Header{}) {
			t.Errorf("%s: Verify returned a part of the message", name)
		}
	}
}

// unchecked returns an envelope that i has signed. change can make the header invalid.
func unchecked(i *identity.Identity, change func(h *Header)) []byte {
	h := header()
	h.Sender = i.Fingerprint()
	change(&h)
	b := h.Bytes()
	signature := i.Sign(h.Domain, statement(b, nil))
	return append(wire.AppendBytes(b, ""), signature[:]...)
}

func withoutDomain(i *identity.Identity) []byte {
	h := header()
	h.Domain, h.Sender = "", i.Fingerprint()
	return append(wire.AppendBytes(h.Bytes(), ""), make([]byte, identity.SignatureSize)...)
}

func TestSignRefusesMalformedHeaders(t *testing.T) {
	i := newIdentity(t)
	for name, tc := range map[string]struct {
		change  func(h *Header)
		payload []byte
	}{
		"no version":                  {func(h *Header) { h.Version = 0 }, nil},
		"a future version":            {func(h *Header) { h.Version = MaxVersion + 1 }, nil},
		"no domain":                   {func(h *Header) { h.Domain = "" }, nil},
		"an unknown domain":           {func(h *Header) { h.Domain = "plan" }, nil},
		"a payload that is too large": {func(*Header) {}, make([]byte, MaxPayload+1)},
	} {
		h := header()
		tc.change(&h)
		if envelope, err := Sign(i, h, tc.payload); err == nil || envelope != nil {
			t.Errorf("%s: was signed", name)
		}
	}
}

//abuse:case A10 a signature is valid for one domain only
func TestDomainsAreSeparate(t *testing.T) {
	i := newIdentity(t)
	for _, a := range domains {
		h := header()
		h.Domain, h.Sender = a, i.Fingerprint()
		b := h.Bytes()
		for _, c := range domains {
			signature := i.Sign(c, statement(b, nil))
			_, err := Verify(append(wire.AppendBytes(b, ""), signature[:]...), i.Public(), h)
			if (err == nil) != (a == c) {
				t.Errorf("signed as %s, shown as %s: %v", c, a, err)
			}
		}
	}
}

//abuse:case P05 an envelope with a changed or missing byte is refused
func TestEveryChangedByteIsDetected(t *testing.T) {
	i := newIdentity(t)
	good := sign(t, i, header(), "payload")
	for at := range good {
		for _, mask := range []byte{1, 0x80, 0xff} {
			changed := bytes.Clone(good)
			changed[at] ^= mask
			if _, err := Verify(changed, i.Public(), header()); err == nil {
				t.Fatalf("the envelope was accepted with byte %d changed", at)
			}
		}
		if _, err := Verify(good[:at], i.Public(), header()); err == nil {
			t.Fatalf("the envelope was accepted without its last %d bytes", len(good)-at)
		}
	}
}

//abuse:case A12 a false length in an envelope allocates no memory
func TestFalseLengthAllocatesNoMemory(t *testing.T) {
	i := newIdentity(t)
	envelope := sign(t, i, header(), "payload")
	at := len(envelope) - identity.SignatureSize - len("payload") - 4
	copy(envelope[at:], []byte{0xff, 0xff, 0xff, 0xff})
	key := i.Public()
	if n := testing.AllocsPerRun(10, func() {
		if _, err := Verify(envelope, key, header()); !errors.Is(err, ErrForm) {
			t.Error(err)
		}
	}); n > 5 {
		t.Errorf("Verify made %v allocations", n)
	}
}

func FuzzVerify(f *testing.F) {
	i := newIdentity(f)
	f.Add(sign(f, i, header(), "payload"))
	f.Add(sign(f, i, header(), ""))
	f.Fuzz(func(t *testing.T, envelope []byte) {
		memory.Bound(t, len(envelope), func() { Verify(envelope, i.Public(), header()) })
		p, err := parse(envelope)
		if err != nil {
			return
		}
		again := append(wire.AppendBytes(p.header.Bytes(), p.payload), p.signature[:]...)
		if !bytes.Equal(again, envelope) {
			t.Errorf("one message has two encodings")
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	i := newIdentity(b)
	envelope := sign(b, i, header(), strings.Repeat("x", 8000))
	for b.Loop() {
		if _, err := Verify(envelope, i.Public(), header()); err != nil {
			b.Fatal(err)
		}
	}
}
