// The noise of a plan, the exact discrete Gaussian N_Z(0, σ²) by dpmech's ziggurat with
// dpmech's tables (dpmech/ziggurat.go and curve.go have the proofs), and normal numbers, which
// hide nothing.
//
// If the bounds of the density leave a comparison undecided, which happens once in some 2^50
// samples, dpmech continues with numbers of any length. A device instead reports the sample,
// and takes the steps again with dpmech's decision.
#pragma once

#include "chacha20.h"
#include "functions.h"
#include "plan.h"

// Returns the quotient of high·2^32 + low by d, which is below 2^32, and leaves the remainder in
// high. The highest bit of d must be 1, high < d, and low < 2^32 (Knuth 1997, 4.3.1, algorithm D).
DEVICE u64 quotient_digit(u64 &high, u64 low, u64 d) {
	const u64 first = d >> 32, second = (u32)d;
	u64 digit = high / first, left = high - digit * first;
	while (digit >> 32 || digit * second > (left << 32 | low)) {
		digit--;
		left += first;
		if (left >> 32) break;
	}
	high = (high << 32 | low) - digit * d;
	return digit;
}

// Returns the quotient of high·2^64 + low by d, and the remainder in rest; high < d < 2^63.
DEVICE u64 divide(u64 high, u64 low, u64 d, u64 &rest) {
	const int shift = __builtin_clzll(d);
	d <<= shift;
	high = high << shift | low >> (64 - shift);
	low <<= shift;
	u64 quotient = quotient_digit(high, low >> 32, d) << 32;
	quotient |= quotient_digit(high, (u32)low, d);
	rest = high >> shift;
	return quotient;
}

enum { UNIT_BITS = 62 };

DEVICE u64 times_unit(u64 a, u64 b) { return multiply_high(a, b) << (64 - UNIT_BITS) | (a * b) >> UNIT_BITS; }

// Writes bounds of exp(−x²/2σ²) in units of 2^-62.
FUNCTION void density(const Plan &plan, u64 x, u64 &low, u64 &high) {
	u64 twice = plan.at(PLAN_TWICE), slack = plan.at(PLAN_SLACK), rest, unused;
	u64 whole = divide(multiply_high(x, x), x * x, twice, rest);
	u64 fraction = divide(rest, 0, twice, unused);
	if (whole >= 45) {
		low = 0, high = slack;
		return;
	}
	const u64 *inverse = plan.from(PLAN_INVERSE);
	u64 t = fraction << 4 >> 4, sum = inverse[10];
	for (int n = 9; n >= 0; n--) sum = inverse[n] - multiply_high(t, sum);
	u64 value = times_unit(times_unit(sum, plan.at(PLAN_SIXTEENTH + (int)(fraction >> 60))), plan.at(PLAN_WHOLE + (int)whole));
	low = value - (value < slack ? value : slack);
	high = value + slack;
}

// Whether a point of a layer is kept. Its height is drawn from src.
enum Verdict { REFUSED, KEPT, UNDECIDED };

DEVICE Verdict keeps(const Plan &plan, u32 number, u64 place, Stream &src) {
	const u64 *layer = plan.from(PLAN_LAYERS) + 5 * number; // width, from, span, foot, rise
	u64 x = place - layer[0] / 2, low, high;
	if ((i64)x < 0) x = 0 - x;
	density(plan, x, low, high);
	u64 y = layer[3] + multiply_high(src.read(), layer[4]);
	if (y >= high) return REFUSED;
	return y + number + 3 <= low ? KEPT : UNDECIDED;
}

// Computes a sample x from the word w alone, as is possible for most words. Returns false if the
// sample needs more words.
DEVICE bool sample_of(const Plan &plan, u64 w, i64 &x) {
	u32 number = (u32)(w % 256);
	const u64 *layer = plan.from(PLAN_LAYERS) + 5 * number;
	u64 width = layer[0], draw = w - number;
	u64 place = multiply_high(draw, width), rest = draw * width;
	x = (i64)place - (i64)(width / 2);
	if (place - layer[1] >= layer[2]) return false;
	return rest >= width * 256 || rest / 256 >= ((u64)1 << 56) % width;
}

// Computes a sample x from the word w, and from more words of src if needed.
DEVICE Verdict draw_sample(const Plan &plan, u64 w, Stream &src, i64 &x) {
	u32 number = (u32)(w % 256);
	const u64 *layer = plan.from(PLAN_LAYERS) + 5 * number;
	u64 width = layer[0], draw = w - number;
	u64 place = multiply_high(draw, width), rest = draw * width;
	if (rest < width * 256 && rest / 256 < ((u64)1 << 56) % width) place = src.below(width);
	x = (i64)place - (i64)(width / 2);
	return place - layer[1] < layer[2] ? KEPT : keeps(plan, number, place, src);
}

// Returns the number of an undecided sample; it is never 0.
DEVICE u64 open_sample(u32 step, u32 j) { return (u64)(step + 1) << 32 | j; }

// Looks a sample up among those that dpmech has decided.
FUNCTION bool decided(const Plan &plan, u64 sample, i64 &x) {
	const u64 *pair = plan.from(plan.at(PLAN_DECIDED));
	for (u64 i = 0; i < plan.at(PLAN_DECIDED_COUNT); i++, pair += 2) {
		if (pair[0] != sample) continue;
		x = (i64)pair[1];
		return true;
	}
	return false;
}

// Computes sample j of a step's noise from its word. Returns false if the sample is undecided.
DEVICE bool noise_of(const Plan &plan, u32 step, u32 j, u64 word, i64 &x) {
	Stream more = {plan.from(PLAN_NOISE_KEY), FOR_MORE_NOISE, step, j, 0};
	Verdict v = draw_sample(plan, word, more, x);
	while (v == REFUSED) v = draw_sample(plan, more.read(), more, x);
	return v == KEPT || decided(plan, open_sample(step, j), x);
}

// Computes sample j of a step's noise. Returns false if the sample is undecided.
FUNCTION bool noise(const Plan &plan, u32 step, u32 j, i64 &x) {
	Stream first = {plan.from(PLAN_NOISE_KEY), FOR_NOISE, step, 0, j};
	return noise_of(plan, step, j, first.read(), x);
}

// Returns standard normal number j of the eight that a block of words gives, which hides
// nothing (Box and Muller 1958).
FUNCTION double normal_of(const u64 *block, u32 j) {
	u64 a = block[j & ~1u], b = block[j | 1];
	double radius = square_root(-2 * logarithm((double)((a >> 11) + 1) * 0x1p-53));
	double sin, cos;
	sine_cosine((double)((i64)(b << 2) >> 11) * (0x1.921fb54442d18p0 * 0x1p-53), sin, cos);
	u32 quarter = (u32)(b >> 62) + (j & 1 ? 3 : 0); // a sine is the cosine of a quarter turn less
	switch (quarter % 4) {
	case 0: return radius * cos;
	case 1: return -(radius * sin);
	case 2: return -(radius * cos);
	}
	return radius * sin;
}

// Returns standard normal number j of a step.
DEVICE double normal(const Plan &plan, u32 step, u32 j) {
	u64 block[8];
	chacha20_block(block, plan.from(PLAN_DRAWS_KEY), j / 8, FOR_DRAWS, step, 0);
	return normal_of(block, j % 8);
}
