// The clipped sum of a batch's gradients in a kernel of its own, for tests.
#include "rows.h"

// Writes the clipped sum of slopes[l]·rows[records[l]] over l < count, in one block. There is
// no noise: only tests read it from the device.
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
