package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/cryptotest"

	"fedpvi/crypto/keyfile"
	"fedpvi/internal/testing/canary"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const domain = Domain("fedpvi/v1/test")

// known returns the identity whose seed is the bytes 0 to 31.
func known() *Identity {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	return fromKey(ed25519.NewKeyFromSeed(seed))
}

const (
	knownPublic      = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
	knownFingerprint = "56475aa75463474c0285df5dbf2bcab73da651358839e9b77481b2eab107708c"
	knownSignature   = "0d978f108f1f8440d2784185251623819e8bb7b186c35dbbf745834c8cdbe71b" +
		"57cb69ff77c5c7b305c6ff5dc6ebc6d850645311a26952457f255d43cbc32c06"
)

// The values are from Python's cryptography package. The signed bytes are "fedpvi/v1/test", a zero
// byte, and SHA-256("message").
func TestKnownSignature(t *testing.T) {
	i := known()
	signature := i.Sign(domain, []byte("message"))
	for what, pair := range map[string][2]string{
		"public key":        {i.Public().String(), knownPublic},
		"fingerprint":       {i.Fingerprint().String(), knownFingerprint},
		"short fingerprint": {i.Fingerprint().Short(), "5647-5aa7-5463-474c"},
		"signature":         {hex.EncodeToString(signature[:]), knownSignature},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %s, not %s", what, pair[0], pair[1])
		}
	}
}

func TestSignatureIsValidForOneKeyDomainAndMessage(t *testing.T) {
	i := known()
	signature := i.Sign(domain, []byte("message"))
	if !i.Public().Verify(domain, []byte("message"), signature) {
		t.Fatal("a valid signature was refused")
	}
	other, err := Generate()
	check(t, err)
	if other.Public().Verify(domain, []byte("message"), signature) ||
		i.Public().Verify("fedpvi/v1/tes", []byte("message"), signature) ||
		i.Public().Verify(domain, []byte("messag"), signature) {
		t.Error("a signature is valid for another key, domain or message")
	}
	for at := range signature {
		changed := signature
		changed[at] ^= 0x40
		if i.Public().Verify(domain, []byte("message"), changed) {
			t.Errorf("the signature is valid with byte %d changed", at)
		}
	}
	// Without the domain, the signature must not be valid.
	if ed25519.Verify(i.public[:], []byte("message"), signature[:]) {
		t.Error("the signature does not cover the domain")
	}
}

func TestMalformedDomainsPanic(t *testing.T) {
	for _, d := range []Domain{"", "fedpvi/v1/\x00plan"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("signed under %q", d)
				}
			}()
			known().Sign(d, nil)
		}()
	}
}

// If R is the neutral point, S is zero and the key has small order, a signature is valid for many
// messages.
func TestKeysOfSmallOrderAreRefused(t *testing.T) {
	forged := [SignatureSize]byte{1}
	if len(smallOrders) != 7 {
		t.Fatal("the list does not have seven encodings")
	}
	for _, text := range smallOrders {
		for _, sign := range []byte{0, 0x80} {
			var k PublicKey
			if _, err := hex.Decode(k[:], []byte(text)); err != nil {
				t.Fatal(err)
			}
			k[31] |= sign
			fits := 0
			for m := range byte(40) {
				if ed25519.Verify(k[:], signedMessage(domain, []byte{m}), forged[:]) {
					fits++
				}
				if k.Verify(domain, []byte{m}, forged) {
					t.Fatalf("%s: Verify accepted the forged signature", k)
				}
			}
			if fits == 0 {
				t.Errorf("%s is in the list, but the forged signature is not valid for any message", k)
			}
			if _, err := ParsePublicKey(k[:]); err == nil {
				t.Errorf("%s was accepted as a key", k)
			}
		}
	}
	i := known()
	if got, err := ParsePublicKey(i.public[:]); err != nil || got != i.public {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ParsePublicKey(i.public[:31]); err == nil {
		t.Error("31 bytes were accepted as a key")
	}
}

func TestCreatedIdentityIsLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "identity.key")
	made, err := Create(nil, path)
	check(t, err)
	loaded, err := Load(nil, path)
	check(t, err)
	signature := loaded.Sign(domain, []byte("m"))
	if loaded.Public() != made.Public() || !made.Public().Verify(domain, []byte("m"), signature) {
		t.Error("another identity was loaded")
	}
	if _, err := Create(nil, path); err == nil {
		t.Error("an identity was overwritten")
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), made.Fingerprint().String()) {
		t.Errorf("the file does not name the fingerprint: %v", err)
	}
	check(t, os.Chmod(path, 0o640))
	if _, err := Load(nil, path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("%v", err)
	}
	short := filepath.Join(t.TempDir(), "keys", "short.key")
	check(t, (*keyfile.Lock)(nil).Create(short, keyKind, "", make([]byte, 31)))
	if _, err := Load(nil, short); err == nil || !strings.Contains(err.Error(), "31 bytes") {
		t.Errorf("%v", err)
	}
}

//abuse:case P15 keys come from the random source of the operating system
func TestKeysAreRandom(t *testing.T) {
	make2 := func() (a, b PublicKey) {
		first, err := Generate()
		check(t, err)
		second, err := Generate()
		check(t, err)
		return first.Public(), second.Public()
	}
	a, b := make2()
	if a == b {
		t.Error("two keys are the same")
	}
	cryptotest.SetGlobalRandom(t, 1)
	a, _ = make2()
	cryptotest.SetGlobalRandom(t, 1)
	b, _ = make2()
	if a != b {
		t.Error("the random source of the system does not determine the key")
	}
}

//abuse:case A17 formatting verbs, loggers and encoders do not show the private key
func TestIdentitiesDoNotShowKeys(t *testing.T) {
	i, err := Generate()
	check(t, err)
	seed := bytes.Clone(i.key.Reveal()[:ed25519.SeedSize])
	holder := struct{ identity Identity }{*i}
	for _, v := range []any{i, *i, &i, holder, &holder} {
		canary.Absent(t, canary.Shown(v), seed)
	}
	if got := i.LogValue().String(); got != i.Fingerprint().Short() {
		t.Errorf("logged as %s", got)
	}
	i.Wipe()
	if !bytes.Equal(i.key.Reveal(), make([]byte, ed25519.PrivateKeySize)) {
		t.Error("the key is not zeros after Wipe")
	}
	defer func() {
		if recover() == nil {
			t.Error("Sign does not panic after Wipe")
		}
	}()
	i.Sign(domain, nil)
}

func TestTextOfKeysAndFingerprints(t *testing.T) {
	type both struct {
		Key         PublicKey
		Fingerprint Fingerprint
	}
	want := both{known().Public(), known().Fingerprint()}
	text, err := json.Marshal(want)
	check(t, err)
	var got both
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%s: %v", text, err)
	}
	for _, wrong := range []string{"", knownPublic[2:], strings.ToUpper(knownPublic), knownPublic + "00", strings.Repeat("g", 64)} {
		if err := got.Key.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("key %q was accepted", wrong)
		}
		if err := got.Fingerprint.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("fingerprint %q was accepted", wrong)
		}
	}
	if err := got.Key.UnmarshalText([]byte(smallOrders[1])); err == nil {
		t.Error("a key of small order was accepted")
	}
	if want.Fingerprint != sha256.Sum256(want.Key[:]) || Pin(want.Fingerprint).String() != knownFingerprint {
		t.Error("the fingerprint is not the SHA-256 of the key")
	}
}
