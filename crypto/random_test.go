package crypto

import (
	"path/filepath"
	"testing"
	"testing/cryptotest"
	"time"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/seal"
)

// Two new keys must differ, and the same random bytes must always give the same key.
func TestEveryKeyIsRandom(t *testing.T) {
	for kind, public := range map[string]func(path string) (string, error){
		"identity": func(path string) (string, error) {
			k, err := identity.Create(nil, path)
			if err != nil {
				return "", err
			}
			return k.Public().String(), nil
		},
		"connections": func(path string) (string, error) {
			k, err := channel.CreateKey(nil, path)
			if err != nil {
				return "", err
			}
			return k.Pin().String(), nil
		},
		"sealing": func(path string) (string, error) {
			k, err := seal.Create(nil, path)
			if err != nil {
				return "", err
			}
			return k.Recipient().String(), nil
		},
		"authority": func(path string) (string, error) {
			a, err := channel.CreateAuthority(nil, path, study, today, today.Add(time.Hour))
			if err != nil {
				return "", err
			}
			return string(a.Certificate()), nil
		},
	} {
		t.Run(kind, func(t *testing.T) {
			create := func(name string) string {
				k, err := public(filepath.Join(t.TempDir(), "keys", name))
				check(t, err)
				return k
			}
			if create("a") == create("b") {
				t.Error("two keys are the same")
			}
			cryptotest.SetGlobalRandom(t, 1)
			first := create("c")
			cryptotest.SetGlobalRandom(t, 1)
			if create("d") != first {
				t.Error("the random source of the system does not determine the key")
			}
		})
	}
}
