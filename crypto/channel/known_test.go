package channel

import (
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
)

var knownStudy = Hash{0xfe, 0xd}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	must(t, err)
	return strings.Join(strings.Fields(string(text)), "")
}

func readHex(t *testing.T, name string) []byte {
	t.Helper()
	b, err := hex.DecodeString(readText(t, name))
	must(t, err)
	return b
}

// The seed of the key is the bytes 0 to 31.
func TestFormatOfVersion1(t *testing.T) {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	key := fromKey(ed25519.NewKeyFromSeed(seed))
	p := Party{knownStudy, identity.Coordinator, "hub"}
	var holder identity.PublicKey
	must(t, holder.UnmarshalText([]byte(readText(t, "holder-v1.txt"))))
	if got, err := checkRequest(readHex(t, "request-v1.hex"), p, holder, key.Pin()); err != nil || !got.Equal(key.public) {
		t.Errorf("the request: %v", err)
	}
	c, err := NewCredentials(p, key, readHex(t, "authority-v1.hex"), readHex(t, "certificate-v1.hex"), today)
	must(t, err)
	if !c.Expires().Equal(end) {
		t.Errorf("the certificate expires at %v", c.Expires())
	}
}
