"""The work of BenchmarkPrivateStep of pvi/solver in NumPy: a Poisson batch, the records'
gradients at one draw of the parameters, their clip, Gaussian noise, and a step of Adam for
mean and spread. Noise is that of NumPy, in floating point, by a generator that is no cipher.
Prints microseconds a step, the best of many.

    OMP_NUM_THREADS=1 python3 bench/private_steps.py
"""

import time

import numpy as np

CLIP, MULTIPLIER = 0.5, 2.0
rng = np.random.default_rng(1)


def logistic(records, d):
    x = rng.uniform(-1, 1, (records, d)) / np.sqrt(d)
    y = rng.integers(0, 2, records).astype(float)

    def gradients(batch, theta):
        rows = x[batch]
        return (y[batch] - 1 / (1 + np.exp(-rows @ theta)))[:, None] * rows

    return gradients, d


def hierarchical(records=500, features=5, groups=3, characteristics=3):
    x = rng.normal(size=(records, features))
    y = rng.integers(0, 2, records).astype(float)
    group = rng.integers(0, groups, records)
    c = rng.normal(size=(groups, characteristics))

    def gradients(batch, theta):
        rows, of = x[batch], c[group[batch]]
        m = theta[features:].reshape(features, characteristics)
        eta = rows @ theta[:features] + ((rows @ m) * of).sum(1)
        slope = (y[batch] - 1 / (1 + np.exp(-eta)))[:, None]
        by_m = (slope * rows)[:, :, None] * of[:, None, :]
        return np.concatenate([slope * rows, by_m.reshape(len(batch), -1)], axis=1)

    return gradients, features * (1 + characteristics)


def mixture(records=2_000, components=5, variables=2):
    x = rng.normal(size=(records, variables))
    component = rng.integers(0, components, records)
    x += 4 * np.stack([np.cos(component), np.sin(component)], axis=1)
    cut = components - 1
    longest = np.log(np.arange(cut, 0, -1))  # equal pieces of a stick at u = 0

    def gradients(batch, theta):
        u, rest = theta[:cut], theta[cut:].reshape(2, variables, components)
        share = 1 / (1 + np.exp(longest - u))
        left = np.concatenate([[1], np.cumprod(1 - share)])
        weights = left * np.append(share, 1)
        inverse = np.exp(-rest[1])  # of the variances
        apart = x[batch][:, :, None] - rest[0]
        square = apart * apart * inverse
        log = np.log(weights) - 0.5 * (square + rest[1]).sum(1)
        responsible = np.exp(log - log.max(1, keepdims=True))
        responsible /= responsible.sum(1, keepdims=True)
        after = np.cumsum(responsible[:, ::-1], axis=1)[:, ::-1][:, :-1]  # of this and later ones
        by_u = responsible[:, :-1] - share * after
        by_mean = responsible[:, None] * apart * inverse
        by_log_variance = 0.5 * responsible[:, None] * (square - 1)
        flat = len(batch), variables * components
        return np.concatenate([by_u, by_mean.reshape(flat), by_log_variance.reshape(flat)], axis=1)

    return gradients, cut + 2 * variables * components


def steps(records, mean_batch, gradients, d):
    """Returns a function that takes a step."""
    rate = mean_batch / records
    mean, rho = np.zeros(d), np.full(d, np.log(0.1))
    first, second, taken = np.zeros(2 * d), np.zeros(2 * d), 0

    def step():
        nonlocal first, second, taken
        taken += 1
        batch = rng.choice(records, rng.binomial(records, rate), replace=False, shuffle=False)
        sd = np.exp(rho)
        epsilon = rng.normal(size=d)
        g = gradients(batch, mean + sd * epsilon)
        g *= np.minimum(1, CLIP / np.maximum(np.sqrt((g * g).sum(1)), 1e-300))[:, None]
        total = (g.sum(0) + CLIP * MULTIPLIER * rng.normal(size=d)) / rate
        gradient = np.concatenate([total - mean, sd * epsilon * total + 1 - sd * sd])
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient * gradient - second)
        move = 0.01 * first / (1 - 0.9**taken) / (np.sqrt(second / (1 - 0.999**taken)) + 1e-8)
        np.add(mean, move[:d], out=mean)
        np.add(rho, move[d:], out=rho)

    return step


if __name__ == "__main__":
    for name, records, batch, model in [
        ("logistic14", 39_073, 195, logistic(39_073, 14)),
        ("logistic108", 39_073, 195, logistic(39_073, 108)),
        ("hierarchical", 500, 10, hierarchical()),
        ("mixture", 2_000, 6, mixture()),
    ]:
        step = steps(records, batch, *model)
        best, began = np.inf, time.perf_counter()
        while time.perf_counter() - began < 3:
            start = time.perf_counter_ns()
            for _ in range(20):
                step()
            best = min(best, (time.perf_counter_ns() - start) / 20)
        print(f"{name}: {best / 1e3:.1f} us/step")
