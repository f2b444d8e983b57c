package dpmech

import "math/bits"

// A feistel is a keyed permutation of the integers below a power of two, as
// docs/feistel.md specifies it bit for bit.
//
// A number of k bits has a left half of ⌊k/2⌋ bits and a right half of the rest.
// Rounds alternate: an even one changes the left half by a function of the right
// one, an odd one the right half by a function of the left one. The round function
// is the multiply-shift hash of Dietzfelbinger ("Universal hashing and k-wise
// independent random variables via integer arithmetic without primes", 1996),
// which is pairwise independent, followed by a bijective mixing of its 32 bits,
// which leaves that so and breaks its linearity. Ten rounds, and twelve of small
// numbers, are as many as leave no bias that a test finds; no proof says that
// they are enough.
type feistel struct {
	n           int
	left, right uint // bits of the halves
	rounds      []feistelRound
}

// feistelRound is the key of one round function.
type feistelRound struct {
	factor, term uint64
	mixer        uint32 // odd
}

// newFeistel returns the permutation for indices below n, without a key.
func newFeistel(n int) feistel {
	width := uint(max(2, bits.Len(uint(max(n, 1)-1))))
	rounds := 10
	if n < 1<<8 {
		rounds = 12
	}
	return feistel{n: n, left: width / 2, right: width - width/2, rounds: make([]feistelRound, rounds)}
}

// key takes the keys of all rounds from src: three words each.
func (f *feistel) key(src *Stream) {
	for i := range f.rounds {
		f.rounds[i] = feistelRound{
			factor: src.Uint64(),
			term:   src.Uint64(),
			mixer:  uint32(src.Uint64()) | 1,
		}
	}
}

// hash returns 32 bits, of which the highest are the best.
func (r *feistelRound) hash(half uint32) uint32 {
	y := uint32((r.factor*uint64(half) + r.term) >> 32)
	return (y ^ y>>16) * r.mixer
}

// at returns the image of x.
func (f *feistel) at(x uint32) uint32 {
	left, right := x>>f.right, x&(1<<f.right-1)
	for i := 0; i < len(f.rounds); i += 2 {
		left ^= f.rounds[i].hash(right) >> (32 - f.left)
		right ^= f.rounds[i+1].hash(left) >> (32 - f.right)
	}
	return left<<f.right | right
}

// fill sets dst to the first images of 0, 1, 2, ... that are below n, at most n.
func (f *feistel) fill(dst []uint32) {
	n := uint32(f.n)
	count := 0
	for x := uint32(0); count < len(dst); x += 4 {
		for _, y := range f.four(x) {
			if count < len(dst) {
				dst[count] = y
			}
			if y < n {
				count++
			}
		}
	}
}

// four returns the images of x, x+1, x+2 and x+3. The four do not wait for each
// other, and a processor works on them at once.
func (f *feistel) four(x uint32) [4]uint32 {
	shift, mask := f.right&31, uint32(1)<<(f.right&31)-1
	toLeft, toRight := (32-f.left)&31, (32-f.right)&31
	l0, r0 := x>>shift, x&mask
	l1, r1 := (x+1)>>shift, (x+1)&mask
	l2, r2 := (x+2)>>shift, (x+2)&mask
	l3, r3 := (x+3)>>shift, (x+3)&mask
	for i := 0; i+1 < len(f.rounds); i += 2 {
		k := &f.rounds[i]
		l0 ^= k.hash(r0) >> toLeft
		l1 ^= k.hash(r1) >> toLeft
		l2 ^= k.hash(r2) >> toLeft
		l3 ^= k.hash(r3) >> toLeft
		k = &f.rounds[i+1]
		r0 ^= k.hash(l0) >> toRight
		r1 ^= k.hash(l1) >> toRight
		r2 ^= k.hash(l2) >> toRight
		r3 ^= k.hash(l3) >> toRight
	}
	return [4]uint32{l0<<shift | r0, l1<<shift | r1, l2<<shift | r2, l3<<shift | r3}
}
