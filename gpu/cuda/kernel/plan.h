// The words of a dpmech.Plan at the places that dpmech/plan_words.go assigns.
#pragma once

#include "prelude.h"

enum {
	PLAN_KIND,
	PLAN_RECORDS,
	PLAN_STEPS,
	PLAN_DIM,
	PLAN_STEP,
	PLAN_PER_STEP,
	PLAN_CLIP,
	PLAN_LENGTH,
	PLAN_TWICE,
	PLAN_SLACK,
	PLAN_FIRST,
	PLAN_SIZES_COUNT,
	PLAN_DECIDED,
	PLAN_DECIDED_COUNT,
	PLAN_SAMPLING_KEY,
	PLAN_NOISE_KEY = PLAN_SAMPLING_KEY + 4,
	PLAN_DRAWS_KEY = PLAN_NOISE_KEY + 4,
	PLAN_LAYERS = PLAN_DRAWS_KEY + 4,
	PLAN_WHOLE = PLAN_LAYERS + 5 * 256,
	PLAN_SIXTEENTH = PLAN_WHOLE + 45,
	PLAN_INVERSE = PLAN_SIXTEENTH + 16,
	PLAN_SIZES = PLAN_INVERSE + 11,
	PLAN_LIST = PLAN_SIZES,
};

enum { ALL_RECORDS, SOME_RECORDS, LISTED_RECORDS };

// A plan, with the values that every step reads.
struct Plan {
	const u64 *words;

	DEVICE_METHOD u64 at(int place) const { return words[place]; }
	DEVICE_METHOD double number(int place) const { return double_of(words[place]); }
	DEVICE_METHOD const u64 *from(u64 place) const { return words + place; }
};
