// Private variational inference: the steps of a visit, in one block of threads.
//
// A step is that of solver.DPSVI with aligned gradients and one draw of θ. Numbers have 64
// bits, and sums over records are sums of integers, so a problem has the same result every
// time, whatever the size of a block.
#pragma once

#include "batch.h"
#include "gaussian.h"
#include "prior.h"

// One problem; gpu/cuda writes the fields in this order.
struct Problem {
	const u64 *plan;
	const double *rows;     // the numbers of each record
	const double *outcomes; // one for each record
	const double *cavity;   // means, then precisions
	const double *rates;    // sizes of the steps
	double *state;          // see State
	i64 *releases;          // steps × d, or null
	const double *model;    // further numbers of the model
	const Beyond *beyond;   // for each coordinate, or null
	u64 family;             // family of outcomes
	double rate;            // sampling rate
	double share;           // this problem's share of the prior beyond the base
	u64 average_from; // the first step that is part of the average
	double beta1, beta2, epsilon; // of Adam
	u64 open;         // an undecided sample, which dpmech has to decide, or 0
};

// The state of a gpu.MeanField with a gpu.Adam: the numbers of steps and of averaged steps;
// means and logarithms of standard deviations, and their sums over the averaged steps; powers
// of Adam's decay rates, and its moments.
struct State {
	double *counts, *point, *total, *powers, *first, *second;

	DEVICE_METHOD State(double *at, u32 d)
		: counts(at), point(at + 2), total(point + 2 * d), powers(total + 2 * d), first(powers + 2), second(first + 2 * d) {}
};

// Moves coordinate i uphill as gpu.Adam does, given the powers of its decay rates.
DEVICE void ascend(const Problem &p, const State &s, u32 i, double gradient, double rate, double power1, double power2) {
	s.first[i] += (1 - p.beta1) * (gradient - s.first[i]);
	s.second[i] += (1 - p.beta2) * (gradient * gradient - s.second[i]);
	s.point[i] += rate * s.first[i] * (1 / (1 - power1)) / (square_root(s.second[i] * (1 / (1 - power2))) + p.epsilon);
}

// Takes the steps of a problem. A Model is constructed from a problem, its number of
// coordinates and shared memory, and has
//
//	void begin(theta)                 starts an empty sum at a draw of θ
//	void look(there, record, theta)   adds the clipped gradient of each thread's record
//	i64 total(j)                      returns coordinate j of the sum, in steps of the lattice
//
// All threads call the first two together, with a barrier before the second and the third.
template <class Model> DEVICE void take_steps(Problem *problems) {
	Problem p = problems[block_index()];
	Plan plan = {p.plan};
	const u32 d = (u32)plan.at(PLAN_DIM), steps = (u32)plan.at(PLAN_STEPS);
	State state(p.state, d);
	Feistel network((u32)plan.at(PLAN_RECORDS));
	double power1 = state.powers[0], power2 = state.powers[1];

	u64 *memory = shared_memory;
	Batch *batch = (Batch *)memory;
	memory += sizeof(Batch) / 8;
	u64 *open = memory++;
	double *theta = (double *)memory, *epsilon = theta + d;
	i64 *hidden = (i64 *)(epsilon + d); // the noise
	Model model(p, plan, d, (u64 *)(hidden + d));

	if (thread_index() == 0) *open = 0;
	for (u32 t = 0; t < steps; t++) {
		begin_batch(plan, t, batch);
		// The noise is drawn before any record is read.
		for (u32 j = thread_index(); j < d; j += block_size()) {
			if (!noise(plan, t, j, hidden[j])) *open = open_sample(t, j);
			epsilon[j] = normal(plan, t, j);
			theta[j] = state.point[j] + exponential(state.point[d + j]) * epsilon[j];
		}
		sync_block();
		if (*open) break;
		model.begin(theta);
		sync_block();
		for (u32 x = 0, found = 0; found < batch->size; x += block_size()) {
			Member m = next_member(plan, network, batch, x, found);
			model.look(m.there, m.record, theta);
		}
		power1 *= p.beta1;
		power2 *= p.beta2;
		for (u32 j = thread_index(); j < d; j += block_size()) {
			i64 release = hidden[j] + model.total(j);
			if (p.releases) p.releases[(u64)t * d + j] = release;
			double total = plan.number(PLAN_STEP) * (double)release;
			if (p.beyond) total += p.beyond[j].slope(theta[j]) * p.share * p.rate;
			double g = 1 / p.rate * total;
			double sd = exponential(state.point[d + j]), b = p.cavity[d + j];
			double mean = -b * (state.point[j] - p.cavity[j]) + g;
			double spread = sd * (1 / sd - b * sd) + sd * epsilon[j] * g;
			ascend(p, state, j, mean, p.rates[t], power1, power2);
			ascend(p, state, d + j, spread, p.rates[t], power1, power2);
			if (t >= p.average_from) {
				state.total[j] += state.point[j];
				state.total[d + j] += state.point[d + j];
			}
		}
		sync_block();
	}
	if (thread_index() == 0) {
		problems[block_index()].open = *open;
		state.counts[0] += steps;
		state.counts[1] += p.average_from < steps ? steps - p.average_from : 0;
		state.powers[0] = power1;
		state.powers[1] = power2;
	}
}
