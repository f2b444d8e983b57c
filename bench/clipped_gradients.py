"""The work of BenchmarkSum and BenchmarkGeneric of gpu/ in NumPy: value, gradient, norm
and clipped sum over a random batch of 2,000 of 39,073 rows, in float64, by the same
formulas (no gradient is formed where the norm has a closed form). Prints nanoseconds
a record, the best of many.

    OMP_NUM_THREADS=1 python3 bench/clipped_gradients.py
"""

import time

import numpy as np

ROWS, BATCH, CLIP = 39_073, 2_000, 2.0
rng = np.random.default_rng(1)
batch = rng.integers(0, ROWS, BATCH)


def factors(squared):
    return np.minimum(1, CLIP / np.sqrt(squared))


def logistic(d):
    x = rng.normal(size=(ROWS, d))
    y = rng.integers(0, 2, ROWS).astype(float)
    squares = (x * x).sum(1)
    beta = 0.3 * rng.normal(size=d)

    def work():
        rows = x[batch]
        eta = rows @ beta
        e = np.exp(-np.abs(eta))
        value = y[batch] * eta - np.maximum(eta, 0) - np.log1p(e)
        slope = y[batch] - np.where(eta < 0, e, 1) / (1 + e)
        c = factors(slope * slope * squares[batch])
        return value.sum(), (c * slope) @ rows

    return work


def intercept():
    groups = 85
    x, y = rng.normal(size=ROWS), rng.normal(size=ROWS)
    g = rng.integers(0, groups, ROWS)
    z = rng.normal(size=groups)
    beta, alpha, tau, sigma = 0.3, 0.1, 0.8, 1.2

    def work():
        xb, gb = x[batch], g[batch]
        zb = z[gb]
        r = (y[batch] - beta * xb - alpha - tau * zb) / sigma
        value = -0.5 * r * r - np.log(sigma) - 0.5 * np.log(2 * np.pi)
        slope = r / sigma
        by_tau, by_z, by_sigma = slope * zb * tau, slope * tau, r * r - 1  # in log τ, z, log σ
        c = factors(slope**2 * (xb * xb + 1) + by_tau**2 + by_z**2 + by_sigma**2)
        return value.sum(), (
            c @ (slope * xb),
            c @ slope,
            c @ by_tau,
            c @ by_sigma,
            np.bincount(gb, c * by_z, groups),
        )

    return work


def mixture():
    x = rng.normal(size=ROWS)
    u, mean, variance = 0.2, np.array([-0.5, 0.7]), np.array([0.8, 1.5])

    def work():
        xb = x[batch][:, None]
        first = 1 / (1 + np.exp(-u))
        weight = np.array([first, 1 - first])
        gap = xb - mean
        terms = np.log(weight) - 0.5 * gap * gap / variance - 0.5 * np.log(2 * np.pi * variance)
        top = terms.max(1, keepdims=True)
        e = np.exp(terms - top)
        total = e.sum(1, keepdims=True)
        value = top + np.log(total)
        r = e / total
        by_mean = r * gap / variance
        by_variance = 0.5 * r * (gap * gap / variance - 1)  # in the logarithm
        by_u = r[:, 0] * (1 - first) - r[:, 1] * first
        c = factors((by_mean**2).sum(1) + (by_variance**2).sum(1) + by_u**2)
        return value.sum(), (c @ by_mean, c @ by_variance, c @ by_u)

    return work


if __name__ == "__main__":
    for name, work in {
        "logistic-14": logistic(14),
        "logistic-108": logistic(108),
        "intercept-85": intercept(),
        "mixture-2": mixture(),
    }.items():
        best, began = np.inf, time.perf_counter()
        while time.perf_counter() - began < 2:
            start = time.process_time_ns()
            work()
            best = min(best, time.process_time_ns() - start)
        print(f"{name}: {best / BATCH:.1f} ns/record")
