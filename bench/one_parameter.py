"""The work of BenchmarkUpdates in NumPy: dataset-level DP-PVI of one slope, tied
factors, vectorised over clients, with ordinary floating-point noise, no lattice, no
message, no check. Prints client updates a second on one core.

    OMP_NUM_THREADS=1 python3 bench/one_parameter.py
"""

import time

import numpy as np

CLIENTS, RECORDS, ROUNDS = 20, 10, 100
NOISE_SD, CLIP, SIGMA, ALPHA = 0.5, 5.0, 5.0, 0.1


def run(seed):
    rng = np.random.default_rng(seed)
    slope = rng.normal(0, 5**0.5)
    x = rng.normal(size=(CLIENTS, RECORDS))
    y = slope * x + NOISE_SD * rng.normal(size=x.shape)
    target = np.stack([(x * y).sum(1), (x * x).sum(1)], axis=1) / NOISE_SD**2
    prior = np.array([0, 1 / 5])
    natural = prior.copy()
    for _ in range(ROUNDS):
        change = target - (natural - prior) / CLIENTS
        norm = np.sqrt((change**2).sum(1))
        change *= np.minimum(1, CLIP / norm)[:, None]
        change += rng.normal(0, SIGMA * CLIP / CLIENTS**0.5, change.shape)
        moved = natural + ALPHA * change.sum(0)
        if moved[1] > 0:
            natural = moved
    return natural


if __name__ == "__main__":
    run(0)
    began, runs = time.perf_counter(), 0
    while time.perf_counter() - began < 2:
        run(runs)
        runs += 1
    rate = runs * ROUNDS * CLIENTS / (time.perf_counter() - began)
    print(f"{rate:,.0f} client updates/s")
