package dpmech

import "math/bits"

// A feistel is a keyed permutation of the integers below a power of two. A batch consists of the
// first values of the permutation that are indices of records. docs/prove/feistel.md specifies the
// permutation bit for bit, so that other hardware draws the same batch.
//
// A number has a left and a right half. An even round changes the left half by a function of the
// right half, and an odd round changes the right half by a function of the left half. The round
// function is the multiply-shift hash of Dietzfelbinger ("Universal hashing and k-wise independent
// random variables via integer arithmetic without primes", 1996), which is pairwise independent
// over its keys. A bijective mixing of the 32 bits follows. It preserves pairwise independence and
// makes the function nonlinear. The network has ten rounds, or twelve for few records. With these
// numbers of rounds, none of our tests finds a bias in permutations of at least eight bits. There
// is no proof that these numbers of rounds suffice.
type feistel struct {
	records     uint32
	left, right uint // number of bits in each half
	rounds      []feistelRound
}

// feistelRound is the key of one round function.
type feistelRound struct {
	factor, term uint64
	mixer        uint32 // odd multiplier of the mixing
}

const (
	feistelRounds    = 10
	maxFeistelRounds = 12 // number of rounds for fewer than feistelFew records
	feistelFew       = 1 << 8

	// feistelLeast is the smallest number of bits of a permutation. With fewer bits, even ideal
	// round functions give a biased permutation. If a batch has four of eight records, the error of
	// its distribution after twelve rounds is 6 % for three bits, and 0.2 % for four bits.
	feistelLeast = 8
)

// newFeistel returns a permutation for the given number of records. Before it is used, the caller
// must set its key.
func newFeistel(records int) feistel {
	width := uint(max(feistelLeast, bits.Len(uint(max(records, 1)-1))))
	rounds := feistelRounds
	if records < feistelFew {
		rounds = maxFeistelRounds
	}
	return feistel{
		records: uint32(records),
		left:    width / 2,
		right:   width - width/2,
		rounds:  make([]feistelRound, rounds),
	}
}

func (f *feistel) key(src *Stream) {
	var words [3 * maxFeistelRounds]uint64
	src.Fill(words[:3*len(f.rounds)])
	f.schedule(words[:3*len(f.rounds)])
	clear(words[:])
}

// schedule sets the keys of all rounds. words has three words per round.
func (f *feistel) schedule(words []uint64) {
	for i := range f.rounds {
		f.rounds[i] = feistelRound{
			factor: words[3*i],
			term:   words[3*i+1],
			mixer:  uint32(words[3*i+2]) | 1,
		}
	}
}

// hash is the round function of the permutation. half is one half of a number, in the highest bits
// of its word, and so is the result. The caller masks the lower bits, and combines the result with
// the other half by exclusive or.
func (r *feistelRound) hash(half uint32) uint32 {
	y := uint32((r.factor*uint64(half) + r.term) >> 32)
	return (y ^ y>>16) * r.mixer
}

// fill draws a batch. It applies the permutation to 0, 1, 2, ..., and writes the results that are
// indices of records to dst until dst is full. dst must not be longer than the number of records.
func (f *feistel) fill(dst []uint32) {
	var images [4]uint32
	for x := uint32(0); len(dst) > 0; x += 4 {
		f.four(x, &images)
		for _, y := range images {
			if y < f.records && len(dst) > 0 {
				dst[0] = y
				dst = dst[1:]
			}
		}
	}
}

// four computes the images of x, x+1, x+2 and x+3. The four computations do not depend on each
// other, so a CPU can do them at the same time.
func (f *feistel) four(x uint32, images *[4]uint32) {
	right, leftUp, rightUp := f.right&31, (32-f.left)&31, (32-f.right)&31
	l0, r0 := x>>right<<leftUp, x<<rightUp
	l1, r1 := (x+1)>>right<<leftUp, (x+1)<<rightUp
	l2, r2 := (x+2)>>right<<leftUp, (x+2)<<rightUp
	l3, r3 := (x+3)>>right<<leftUp, (x+3)<<rightUp
	leftMask, rightMask := ^uint32(0)<<leftUp, ^uint32(0)<<rightUp
	for rounds := f.rounds; len(rounds) >= 2; rounds = rounds[2:] {
		even, odd := &rounds[0], &rounds[1]
		l0 ^= even.hash(r0) & leftMask
		l1 ^= even.hash(r1) & leftMask
		l2 ^= even.hash(r2) & leftMask
		l3 ^= even.hash(r3) & leftMask
		r0 ^= odd.hash(l0) & rightMask
		r1 ^= odd.hash(l1) & rightMask
		r2 ^= odd.hash(l2) & rightMask
		r3 ^= odd.hash(l3) & rightMask
	}
	images[0] = l0>>leftUp<<right | r0>>rightUp
	images[1] = l1>>leftUp<<right | r1>>rightUp
	images[2] = l2>>leftUp<<right | r2>>rightUp
	images[3] = l3>>leftUp<<right | r3>>rightUp
}
