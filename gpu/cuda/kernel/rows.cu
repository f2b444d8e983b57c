// The clipped sum of the gradients of a batch, by itself.
#include "rows.h"

// Writes the sum of what slopes[l]·rows[records[l]], l < count, add to a release, in one
// block. Nothing hides it: it stays on the device, but in tests.
KERNEL void sum_rows(i64 *out, const u64 *words, const double *rows, const double *slopes, const u64 *records, u64 count) {
	Plan plan = {words};
	u32 d = (u32)plan.at(PLAN_DIM);
	Sums sums(shared_memory, d, block_size());
	sums.clear();
	for (u64 from = 0; from < count; from += block_size()) {
		u64 l = from + thread_index();
		u32 record = l < count ? (u32)records[l] : 0;
		double factor = l < count ? row_factor(plan, slopes[l], sum_of_squares(rows + (u64)record * d, d)) : 0;
		sums.add(rows, record, factor);
	}
	sync_block();
	for (u32 j = thread_index(); j < d; j += block_size()) out[j] = sums.total(j);
}
