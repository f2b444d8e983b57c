package seal

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestStateIsKept(t *testing.T) {
	k := newKey(t)
	for _, n := range []int{0, 1, page, page + 1, 300_000} {
		state := bytes.Repeat([]byte{7}, n)
		sealed, err := k.SealState("rounds of a study", state)
		check(t, err)
		if got, err := k.OpenState("rounds of a study", sealed); err != nil || !bytes.Equal(got, state) {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
	}
}

func TestStateIsRefused(t *testing.T) {
	k := newKey(t)
	whole, err := k.SealState("rounds", []byte("state"))
	check(t, err)
	if _, err := newKey(t).OpenState("rounds", whole); !errors.Is(err, ErrOpen) {
		t.Errorf("another key: %v", err)
	}
	if _, err := k.OpenState("ledger", whole); !errors.Is(err, ErrContext) {
		t.Errorf("another purpose: %v", err)
	}
	for _, n := range []int{0, 1, headerSize + nonceSize, len(whole) - 1} {
		if _, err := k.OpenState("rounds", whole[:n]); err == nil {
			t.Errorf("a state cut to %d bytes was opened", n)
		}
	}
	if _, err := k.OpenState("rounds", append(whole, make([]byte, page)...)); err == nil {
		t.Error("a longer state was opened")
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
