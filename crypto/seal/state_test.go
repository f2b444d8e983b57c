package seal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func TestStateIsKept(t *testing.T) {
	k := newKey(t)
	path := filepath.Join(t.TempDir(), "state", "rounds")
	for _, n := range []int{0, 1, page, page + 1, 300_000} {
		state := bytes.Repeat([]byte{7}, n)
		if err := k.WriteState(path, "rounds of a study", state); err != nil {
			t.Fatal(err)
		}
		if got, err := k.ReadState(path, "rounds of a study", n); err != nil || !bytes.Equal(got, state) {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestStateIsRefused(t *testing.T) {
	k := newKey(t)
	path := filepath.Join(t.TempDir(), "state", "rounds")
	if err := k.WriteState(path, "rounds", []byte("state")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		key     *Key
		purpose string
		limit   int
		err     error
	}{
		"another key":     {newKey(t), "rounds", 100, ErrOpen},
		"another purpose": {k, "ledger", 100, ErrContext},
		"a huge limit":    {k, "rounds", MaxSize + 1, nil},
	} {
		got, err := tc.key.ReadState(path, tc.purpose, tc.limit)
		if err == nil || tc.err != nil && !errors.Is(err, tc.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, headerSize + nonceSize, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := k.ReadState(path, "rounds", 100); err == nil {
			t.Errorf("a file cut to %d bytes was read", n)
		}
	}
	if err := os.WriteFile(path, append(whole, make([]byte, page)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.ReadState(path, "rounds", 100); err == nil {
		t.Error("a file with more than the limit was read")
	}
}

func TestPadding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<24).Draw(t, "n")
		context := rapid.IntRange(0, MaxContext).Draw(t, "context")
		size := roundUp(n)
		if size < n || size > n+max(page, n/8+1) {
			t.Errorf("%d is padded to %d", n, size)
		}
		if got, err := sizeOf(SealedSize(context, size), context); err != nil || got != size {
			t.Errorf("%d was found for %d: %v", got, size, err)
		}
		if roundUp(n) > roundUp(n+1) {
			t.Errorf("more than %d needs less", n)
		}
	})
}
