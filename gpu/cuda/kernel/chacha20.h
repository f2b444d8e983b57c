// The key stream of ChaCha20 (RFC 8439) as words of 64 bits, each computed by itself.
#pragma once

#include "prelude.h"

// The purpose of a key stream, which is the first word of its nonce. The second word is the
// step.
enum { FOR_BATCH, FOR_NOISE, FOR_MORE_NOISE, FOR_DRAWS, FOR_BITS };

DEVICE u32 rotate(u32 x, int n) { return x << n | x >> (32 - n); }

DEVICE void quarter_round(u32 &a, u32 &b, u32 &c, u32 &d) {
	a += b; d = rotate(d ^ a, 16);
	c += d; b = rotate(b ^ c, 12);
	a += b; d = rotate(d ^ a, 8);
	c += d; b = rotate(b ^ c, 7);
}

// Writes the block of the given number of a key stream. The key has four words, the nonce
// three.
FUNCTION void chacha20_block(u64 out[8], const u64 *key, u32 number, u32 purpose, u32 step, u32 sample) {
	u32 in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
	for (int i = 0; i < 4; i++) {
		in[4 + 2 * i] = (u32)key[i];
		in[5 + 2 * i] = (u32)(key[i] >> 32);
	}
	in[12] = number, in[13] = purpose, in[14] = step, in[15] = sample;
	u32 x[16];
	for (int i = 0; i < 16; i++) x[i] = in[i];
	for (int i = 0; i < 10; i++) {
		quarter_round(x[0], x[4], x[8], x[12]);
		quarter_round(x[1], x[5], x[9], x[13]);
		quarter_round(x[2], x[6], x[10], x[14]);
		quarter_round(x[3], x[7], x[11], x[15]);
		quarter_round(x[0], x[5], x[10], x[15]);
		quarter_round(x[1], x[6], x[11], x[12]);
		quarter_round(x[2], x[7], x[8], x[13]);
		quarter_round(x[3], x[4], x[9], x[14]);
	}
	for (int i = 0; i < 8; i++) out[i] = (u64)(x[2 * i + 1] + in[2 * i + 1]) << 32 | (x[2 * i] + in[2 * i]);
}

// A place in a key stream.
struct Stream {
	const u64 *key;
	u32 purpose, step, sample;
	u64 next; // number of the word

	DEVICE_METHOD u64 at(u64 word) const {
		u64 block[8];
		chacha20_block(block, key, (u32)(word / 8), purpose, step, sample);
		return block[word % 8];
	}

	DEVICE_METHOD u64 read() { return at(next++); }

	// Returns an exactly uniform number below n (Lemire 2019), as dpmech's Stream.Uint64n draws
	// it.
	DEVICE_METHOD u64 below(u64 n) {
		for (;;) {
			u64 w = read(), low = w * n;
			if (low >= n || low >= (0 - n) % n) return multiply_high(w, n);
		}
	}
};
