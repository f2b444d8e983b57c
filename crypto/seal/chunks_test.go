package seal

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"fedpvi/internal/testing/memory"
)

func openAt(k *Key, sealed, context []byte, size int) ([]byte, error) {
	p, err := k.OpenAt(bytes.NewReader(sealed), int64(len(sealed)), context, size)
	if err != nil {
		return nil, err
	}
	payload := []byte{}
	err = p.Each(func(part []byte) error {
		payload = append(payload, part...)
		return nil
	})
	if err == nil && len(payload) != p.Len() {
		err = errors.New("the length of the payload differs from Len")
	}
	return payload, err
}

// alike fails the test unless Open and OpenAt return the same payload or the same error.
func alike(t *testing.T, k *Key, sealed, context []byte, size int) {
	t.Helper()
	want, wantErr := k.Open(sealed, context, size)
	got, err := openAt(k, sealed, context, size)
	if !errors.Is(err, wantErr) || !bytes.Equal(got, want) {
		t.Errorf("%d bytes are opened as %d, %v; chunk by chunk as %d, %v", len(sealed), len(want), wantErr, len(got), err)
	}
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(n)})
	if _, err := io.ReadFull(source, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// For seals with changed bytes, Open and OpenAt must return the same error.
func TestOpenAt(t *testing.T) {
	k := newKey(t)
	context := []byte("context")
	room := chunkSize - plainSize(len(context), 0)
	for _, size := range []int{0, 1, room - 1, room, room + 1, room + chunkSize, 3*chunkSize + 5} {
		for _, n := range []int{0, size / 2, size} {
			payload := random(t, n)
			s := sealed(t, k, string(context), string(payload), size)
			if got, err := openAt(k, s, context, size); err != nil || !bytes.Equal(got, payload) {
				t.Errorf("%d bytes of %d are opened as %d, %v", n, size, len(got), err)
			}
			alike(t, k, s[:len(s)-1], context, size)
			alike(t, k, append(s, 0), context, size)
			alike(t, k, s, []byte("contest"), size)
			for at := chunksAt; at < len(s); at += chunkSize + tagSize {
				end := min(at+chunkSize+tagSize, len(s))
				for _, i := range []int{at, (at + end) / 2, end - tagSize, end - 1} {
					changed := bytes.Clone(s)
					changed[i] ^= 0x10
					alike(t, k, changed, context, size)
				}
			}
		}
	}
	short := sealed(t, k, "context", "payload", 16)
	for i := range short {
		changed := bytes.Clone(short)
		changed[i] ^= 1
		alike(t, k, changed, context, 16)
		if _, err := openAt(k, changed, context, 16); err == nil {
			t.Errorf("opened although byte %d was changed", i)
		}
	}
}

// The payloads are longer than one chunk, and their encryption is correct.
func TestOpenAtRefusesForgedPayloads(t *testing.T) {
	k := newKey(t)
	const size = 2 * chunkSize
	for name, tc := range map[string]struct {
		payload uint32 // length of the payload according to the seal
		at      int    // index of a padding byte that is not zero; 0 if all are zero
		err     error
	}{
		"a whole payload":                 {size, 0, nil},
		"a payload and zeros":             {100, 0, nil},
		"a payload beyond its size":       {size + 1, 0, ErrForm},
		"a payload of 4 GiB":              {1<<32 - 1, 0, ErrForm},
		"padding that is not zero":        {100, 200, ErrForm},
		"the same in the last chunk":      {100, 2*chunkSize - 3, ErrForm},
		"the last byte of the padding":    {chunkSize, size - 1, ErrForm},
		"the same within a long payload":  {size, size - 1, nil},
		"padding that begins with a byte": {chunkSize, chunkSize, ErrForm},
	} {
		rest := make([]byte, size)
		if tc.at > 0 {
			rest[tc.at] = 1
		}
		s := encrypted(t, plain(3, tc.payload, string(rest)), k.Recipient().recipient)
		if _, err := openAt(k, s, []byte("ctx"), size); !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", name, err, tc.err)
		}
		alike(t, k, s, []byte("ctx"), size)
	}
}

// After a seal has changed, the next read must not return plaintext from the changed chunk.
func TestChangeAfterCheckIsNoticed(t *testing.T) {
	k := newKey(t)
	const size = 3 * chunkSize
	payload := random(t, size)
	s := sealed(t, k, "context", string(payload), size)
	p, err := k.OpenAt(bytes.NewReader(s), int64(len(s)), []byte("context"), size)
	check(t, err)
	s[len(s)-1] ^= 1
	var got []byte
	err = p.Each(func(part []byte) error {
		got = append(got, part...)
		return nil
	})
	if !errors.Is(err, ErrOpen) || len(got) >= size || !bytes.Equal(got, payload[:len(got)]) {
		t.Errorf("%d bytes were returned, %v", len(got), err)
	}
	s[len(s)-1] ^= 1
	if err := p.Each(func([]byte) error { return io.ErrNoProgress }); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
	if bytes.Trim(p.buffer, "\x00") != nil {
		t.Error("the buffer still has plaintext")
	}
}

func TestReadErrorIsReturned(t *testing.T) {
	k := newKey(t)
	s := sealed(t, k, "context", "payload", 2*chunkSize)
	for _, n := range []int{0, chunksAt - 1, chunksAt, chunksAt + chunkSize, len(s) - 1} {
		_, err := k.OpenAt(bytes.NewReader(s[:n]), int64(len(s)), []byte("context"), 2*chunkSize)
		if !errors.Is(err, io.EOF) || errors.Is(err, ErrForm) || errors.Is(err, ErrOpen) {
			t.Errorf("%d bytes of %d: %v", n, len(s), err)
		}
	}
	k.Wipe()
	if _, err := k.OpenAt(bytes.NewReader(s), int64(len(s)), []byte("context"), 2*chunkSize); err == nil {
		t.Error("opened with a key that was wiped")
	}
}

// There is a limit on the live heap and a limit on all allocations. The second is about one payload
// for each of two passes.
func TestLongPayloadIsNotInMemory(t *testing.T) {
	k := newKey(t)
	const size = 16 << 20
	from := bytes.NewReader(sealed(t, k, "context", string(make([]byte, size)), size))
	var sum, parts int
	var most uint64
	before := live()
	memory.Within(t, 2*size*5/4+memory.Room, func() {
		p, err := k.OpenAt(from, from.Size(), []byte("context"), size)
		if err == nil {
			sum = 0
			err = p.Each(func(part []byte) error {
				if parts++; parts%32 == 1 {
					most = max(most, live())
				}
				sum += len(part)
				return nil
			})
		}
		if err != nil {
			t.Error(err)
		}
	})
	if sum != size {
		t.Errorf("%d bytes were opened", sum)
	}
	if most > before+256<<10 {
		t.Errorf("%d bytes were in use while a payload was read, and %d before", most, before)
	}
}

func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkOpenAt(b *testing.B) {
	k := newKey(b)
	const size = 16 << 20
	s := sealed(b, k, "context", "", size)
	b.SetBytes(size)
	b.Run("at once", func(b *testing.B) {
		for b.Loop() {
			_, err := k.Open(s, []byte("context"), size)
			check(b, err)
		}
	})
	b.Run("chunk by chunk, twice", func(b *testing.B) {
		for b.Loop() {
			p, err := k.OpenAt(bytes.NewReader(s), int64(len(s)), []byte("context"), size)
			check(b, err)
			check(b, p.Each(func([]byte) error { return nil }))
		}
	})
}
