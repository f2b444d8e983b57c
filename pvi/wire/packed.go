package wire

import (
	"encoding/binary"
	"errors"

	"fedpvi/pvi"
)

// Encoded is a message that may be longer than memory is to hold.
type Encoded interface {
	// Len is how many bytes it has.
	Len() int
	// Each hands them to f in order, in parts that are good until f returns, and stops at the first error, its
	// own or of f, which it returns. Called again it hands out the same bytes.
	Each(f func(part []byte) error) error
}

// Whole is a message in memory.
type Whole []byte

// Len is how many bytes it has.
func (b Whole) Len() int { return len(b) }

// Each hands them to f at once.
func (b Whole) Each(f func(part []byte) error) error { return f(b) }

// ReadWhole has a message read that is to be in memory as a whole, and wipes the bytes if they were not.
func ReadWhole(m Encoded, read func(b []byte) error) error {
	if b, ok := m.(Whole); ok {
		return read(b)
	}
	b := make([]byte, 0, m.Len())
	defer func() { clear(b) }()
	err := m.Each(func(part []byte) error {
		b = append(b, part...)
		return nil
	})
	if err != nil {
		return err
	}
	return read(b)
}

var errEnough = errors.New("there is more of the message")

// beginning returns a copy of the first n bytes of a message, or of all if it has no more.
func beginning(m Encoded, n int) ([]byte, error) {
	n = min(n, m.Len())
	b := make([]byte, 0, n)
	err := m.Each(func(part []byte) error {
		if b = append(b, part[:min(n-len(b), len(part))]...); len(b) == n {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return b, nil
}

// ReadPackedRelease is ReadRelease with the numbers where they are, and no Change. An error that is not
// [pvi.Refused] is one of m.
func ReadPackedRelease(m Encoded, l Limits) (*pvi.Release, *Packed, error) {
	var release pvi.Release
	b, err := beginning(m, headSize+len(release.Protocol)+8+lengthSize+l.Name+lengthSize)
	if err != nil {
		return nil, nil, err
	}
	r := open(b, Release, l)
	release = pvi.Release{Protocol: r.digest(), Number: r.int(), Client: r.name()}
	n := r.length(l.Elements)
	first := len(b) - len(r.rest)
	switch have := m.Len() - first; {
	case n > have/numberSize:
		r.fail("it ends too early")
	case n*numberSize < have:
		r.fail("something follows it")
	}
	r.rest = nil
	if _, err := checked(&release, r, Release); err != nil {
		return nil, nil, err
	}
	return &release, &Packed{m, first, n}, nil
}

// Packed are the numbers at the end of a message, in its bytes.
type Packed struct {
	message Encoded
	first   int // byte
	n       int
}

// Len is how many there are.
func (p *Packed) Len() int { return p.n }

// Each hands them to f in order, in blocks that are good until f returns, and stops at the first error, of the
// message or of f, which it returns.
func (p *Packed) Each(f func(block []int64) error) error {
	var numbers [256]int64
	var cut [numberSize]byte // of a number the beginning of which was in the part before
	have, skip := 0, p.first
	return p.message.Each(func(part []byte) error {
		before := min(skip, len(part))
		part, skip = part[before:], skip-before
		if have > 0 {
			n := copy(cut[have:], part)
			part, have = part[n:], have+n
			if have < numberSize {
				return nil
			}
			have = 0
			numbers[0] = int64(binary.LittleEndian.Uint64(cut[:]))
			if err := f(numbers[:1]); err != nil {
				return err
			}
		}
		for len(part) >= numberSize {
			block := numbers[:min(len(numbers), len(part)/numberSize)]
			for i := range block {
				block[i] = int64(binary.LittleEndian.Uint64(part[numberSize*i:]))
			}
			part = part[numberSize*len(block):]
			if err := f(block); err != nil {
				return err
			}
		}
		have = copy(cut[:], part)
		return nil
	})
}
