package seal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"

	"fedpvi/crypto/keyfile"
	"fedpvi/internal/testing/canary"
	"fedpvi/internal/testing/memory"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newKey(t testing.TB) *Key {
	t.Helper()
	k, err := Generate()
	check(t, err)
	return k
}

func sealed(t testing.TB, k *Key, context, payload string, size int) []byte {
	t.Helper()
	s, err := Seal(k.Recipient(), []byte(context), []byte(payload), size)
	check(t, err)
	return s
}

// Some payloads are about as long as an age chunk, because the age format has special cases there.
func TestSealAndOpen(t *testing.T) {
	k := newKey(t)
	for _, size := range []int{0, 1, 100, chunkSize - plainSize(7, 0) - 1, chunkSize - plainSize(7, 0), chunkSize - plainSize(7, 0) + 1, 2*chunkSize - plainSize(7, 0), 200_000} {
		for _, n := range []int{0, size / 2, size} {
			payload := strings.Repeat("p", n)
			s := sealed(t, k, "context", payload, size)
			if len(s) != SealedSize(len("context"), size) {
				t.Errorf("%d bytes of %d: %d sealed, not %d", n, size, len(s), SealedSize(7, size))
			}
			if got, err := k.Open(s, []byte("context"), size); err != nil || string(got) != payload {
				t.Errorf("%d bytes of %d: %d bytes, %v", n, size, len(got), err)
			}
		}
	}
	if bytes.Equal(sealed(t, k, "", "x", 1), sealed(t, k, "", "x", 1)) {
		t.Error("sealing twice gives the same bytes")
	}
}

// The test decrypts the seal with age itself.
func TestFormat(t *testing.T) {
	if headerSize != 1627 {
		t.Errorf("a header has %d bytes", headerSize)
	}
	k := newKey(t)
	got, err := decrypted(sealed(t, k, "context", "payload", 10), k.identity)
	if want := "\x00\x00\x00\x07context\x00\x00\x00\x07payload\x00\x00\x00"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestKnownSeal(t *testing.T) {
	keys, err := os.Open("testdata/key.txt")
	check(t, err)
	defer keys.Close()
	identities, err := age.ParseIdentities(keys)
	check(t, err)
	file, err := os.Open("testdata/sealed-v1.age")
	check(t, err)
	defer file.Close()
	s, err := io.ReadAll(armor.NewReader(file))
	check(t, err)
	k := &Key{identities[0].(*age.HybridIdentity)}
	if got, err := k.Open(s, []byte("context"), 64); err != nil || string(got) != "payload" {
		t.Errorf("%q, %v", got, err)
	}
}

// encrypted encrypts plain with age itself, for tests with files that Seal would never make.
func encrypted(t *testing.T, plain []byte, to ...age.Recipient) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to...)
	check(t, err)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	check(t, w.Close())
	return b.Bytes()
}

func plain(context, payload uint32, rest string) []byte {
	b := binary.BigEndian.AppendUint32(nil, context)
	b = append(b, "ctx"...)
	b = binary.BigEndian.AppendUint32(b, payload)
	return append(b, rest...)
}

//abuse:case A11 a second recipient or an older kind of key is refused
//abuse:case A12 a header of any other form or size never reaches the parser
func TestForgedSealIsRefused(t *testing.T) {
	k, other := newKey(t), newKey(t)
	to := k.Recipient().recipient
	classic, err := age.GenerateX25519Identity()
	check(t, err)
	good := sealed(t, k, "ctx", "pay", 8)
	for name, tc := range map[string]struct {
		sealed []byte
		err    error
	}{
		"nothing":                  {nil, ErrForm},
		"plaintext":                {plain(3, 3, "pay\x00\x00\x00\x00\x00"), ErrForm},
		"plaintext of that length": {make([]byte, len(good)), ErrForm},
		"a trailing byte":          {append(bytes.Clone(good), 0), ErrForm},
		"another size":             {sealed(t, k, "ctx", "pay", 9), ErrForm},
		"another context":          {sealed(t, k, "cty", "pay", 8), ErrContext},
		"a context moved into the payload": {
			sealed(t, k, "ct", "xpay", 9), ErrContext,
		},
		"for another":               {sealed(t, other, "ctx", "pay", 8), ErrOpen},
		"for two":                   {encrypted(t, plain(3, 3, "pay\x00\x00\x00\x00\x00"), to, other.Recipient().recipient), ErrForm},
		"for an older kind of key":  {encrypted(t, plain(3, 3, "pay\x00\x00\x00\x00\x00"), classic.Recipient()), ErrForm},
		"a payload past the end":    {encrypted(t, plain(3, 9, "pay\x00\x00\x00\x00\x00"), to), ErrForm},
		"a context past the end":    {encrypted(t, plain(1<<31, 3, "pay\x00\x00\x00\x00\x00"), to), ErrForm},
		"something in the padding":  {encrypted(t, plain(3, 3, "pay\x00\x00\x00\x00x"), to), ErrForm},
		"padding that is a payload": {encrypted(t, plain(3, 2, "pay\x00\x00\x00\x00\x00"), to), ErrForm},
		"two stanzas in one header": {twoStanzas(good), ErrForm},
	} {
		if got, err := k.Open(tc.sealed, []byte("ctx"), 8); !errors.Is(err, tc.err) || got != nil {
			t.Errorf("%s: %q, %v, not %v", name, got, err, tc.err)
		}
		alike(t, k, tc.sealed, []byte("ctx"), 8)
	}
	if got, err := k.Open(good, []byte("ctx"), 8); err != nil || string(got) != "pay" {
		t.Fatalf("the good one: %q, %v", got, err)
	}
}

// twoStanzas makes a header that has two stanzas but the same length and line breaks as the good
// one.
func twoStanzas(good []byte) []byte {
	s := bytes.Clone(good)
	copy(s[100:], "\n-> mlkem768x25519 ")
	return s
}

func TestSizes(t *testing.T) {
	k := newKey(t)
	for name, err := range map[string]error{
		"payload":                     second(Seal(k.Recipient(), nil, make([]byte, 9), 8)),
		"negative":                    second(Seal(k.Recipient(), nil, nil, -1)),
		"size":                        second(Seal(k.Recipient(), nil, nil, MaxSize+1)),
		"context":                     second(Seal(k.Recipient(), make([]byte, MaxContext+1), nil, 8)),
		"nobody":                      second(Seal(Recipient{}, nil, nil, 8)),
		"opening":                     second(k.Open(nil, nil, MaxSize+1)),
		"opening with a long context": second(k.Open(nil, make([]byte, MaxContext+1), 0)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second(_ []byte, err error) error { return err }

//abuse:case P05 a seal with a changed byte is refused
func TestChangedByteIsRefused(t *testing.T) {
	k := newKey(t)
	good := sealed(t, k, "ctx", "pay", 8)
	for at := range good {
		changed := bytes.Clone(good)
		changed[at] ^= 1
		if _, err := k.Open(changed, []byte("ctx"), 8); !errors.Is(err, ErrForm) && !errors.Is(err, ErrOpen) {
			t.Fatalf("byte %d was changed: %v", at, err)
		}
	}
}

func TestReorderedChunksAreRefused(t *testing.T) {
	k := newKey(t)
	const full = chunkSize + tagSize
	size := 3*chunkSize - plainSize(3, 0) // all chunks are full
	good := sealed(t, k, "ctx", "pay", size)
	head, chunks := good[:headerSize+nonceSize], good[headerSize+nonceSize:]
	if len(chunks) != 3*full {
		t.Fatalf("%d bytes of chunks", len(chunks))
	}
	for order, want := range map[string]error{"012": nil, "102": ErrOpen, "021": ErrOpen, "002": ErrOpen, "222": ErrOpen, "011": ErrOpen} {
		file := bytes.Clone(head)
		for _, n := range order {
			file = append(file, chunks[(n-'0')*full:][:full]...)
		}
		if got, err := k.Open(file, []byte("ctx"), size); !errors.Is(err, want) || want == nil && string(got) != "pay" {
			t.Errorf("chunks %s: %q, %v", order, got, err)
		}
		if _, err := decrypted(file, k.identity); (err == nil) != (want == nil) {
			t.Errorf("chunks %s: age returns %v", order, err)
		}
	}
}

func decrypted(file []byte, identity age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(file), identity)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestRecipients(t *testing.T) {
	k := newKey(t)
	text := k.Recipient().String()
	r, err := ParseRecipient(text)
	if err != nil || r.String() != text {
		t.Fatal(err)
	}
	if got, err := k.Open(second1(Seal(r, nil, []byte("x"), 1)), nil, 1); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	classic, err := age.GenerateX25519Identity()
	check(t, err)
	for name, wrong := range map[string]string{
		"nothing":    "",
		"upper case": strings.ToUpper(text),
		"classic":    classic.Recipient().String(),
		"changed":    changed(text, 50),
		"cut":        text[:len(text)-1],
		"long":       text + "q",
		"a key":      k.identity.String(),
	} {
		_, err := ParseRecipient(wrong)
		if !errors.Is(err, ErrRecipient) || err.Error() != ErrRecipient.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func changed(text string, at int) string {
	other := "q"
	if text[at] == 'q' {
		other = "p"
	}
	return text[:at] + other + text[at+1:]
}

func second1(b []byte, _ error) []byte { return b }

func TestKeysAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "sealing.key")
	made, err := Create(nil, path)
	check(t, err)
	loaded, err := Load(nil, path)
	if err != nil || loaded.Recipient().String() != made.Recipient().String() {
		t.Fatalf("another key was loaded: %v", err)
	}
	if _, err := Create(nil, path); err == nil {
		t.Error("a key was overwritten")
	}
	check(t, os.Chmod(path, 0o644))
	if _, err := Load(nil, path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("%v", err)
	}
	damaged := filepath.Join(t.TempDir(), "keys", "damaged.key")
	text := []byte(made.identity.String())
	check(t, (*keyfile.Lock)(nil).Create(damaged, keyKind, "", text[:len(text)-1]))
	_, err = Load(nil, damaged)
	if err == nil {
		t.Fatal("an invalid key was loaded")
	}
	canary.Absent(t, canary.Shown(err), text[30:])
}

func TestKeysAreNotShown(t *testing.T) {
	k := newKey(t)
	text := []byte(k.identity.String())
	secret := text[len("AGE-SECRET-KEY-PQ-1"):]
	for _, v := range []any{k, *k, &k, struct{ key *Key }{k}, struct{ Key Key }{*k}} {
		canary.Absent(t, canary.Shown(v), secret)
	}
	k.Wipe()
	if _, err := k.Open(nil, nil, 0); err == nil || !strings.Contains(err.Error(), "wiped") {
		t.Errorf("%v", err)
	}
}

func FuzzOpen(f *testing.F) {
	k := newKey(f)
	f.Add(sealed(f, k, "ctx", "pay", 8))
	f.Add([]byte("\x00\x00\x00\x03ctx\x00\x00\x00\x03pay\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		memory.Bound(t, len(b), func() { k.Open(b, []byte("ctx"), 8) })
		if got, err := k.Open(b, []byte("ctx"), 8); err == nil && string(got) != "pay" {
			t.Errorf("%q was opened", got)
		}
		alike(t, k, b, []byte("ctx"), 8)
		payload, err := unpack(b, []byte("ctx"), len(b))
		inChunks(t, b, payload, err)
		if err != nil {
			return
		}
		want := append(plain(3, uint32(len(payload)), string(payload)), make([]byte, len(b)-11-len(payload))...)
		if !bytes.Equal(want, b) {
			t.Errorf("one payload has two encodings: %x", b)
		}
	})
}

// inChunks checks that an unpacker gets the same result from b in two chunks, of which the first is
// as short as possible.
func inChunks(t *testing.T, b, want []byte, wantErr error) {
	t.Helper()
	cut := len(b)
	if len(b) >= 4 {
		if n := binary.BigEndian.Uint32(b); n <= MaxContext {
			cut = min(cut, plainSize(int(n), 0))
		}
	}
	u := unpacker{context: []byte("ctx"), size: len(b), rest: len(b)}
	got := append(bytes.Clone(u.take(b[:cut])), u.take(b[cut:])...)
	if !errors.Is(u.fault, wantErr) || wantErr == nil && !bytes.Equal(got, want) {
		t.Errorf("%q, %v at once; %q, %v in chunks", want, wantErr, got, u.fault)
	}
}

func BenchmarkSeal(b *testing.B) {
	to := newKey(b).Recipient()
	payload := make([]byte, 8000)
	for b.Loop() {
		_, err := Seal(to, []byte("context"), payload, len(payload))
		check(b, err)
	}
}

func BenchmarkOpen(b *testing.B) {
	k := newKey(b)
	s := sealed(b, k, "context", "", 8000)
	for b.Loop() {
		_, err := k.Open(s, []byte("context"), 8000)
		check(b, err)
	}
}
