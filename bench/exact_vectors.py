"""Replaces Stan's numbers in two files of pvi/program/testdata/accepted by exact ones.

Stan approximates the derivative of the normal distribution function with an absolute error of up to
1e-5, which is too much for the test. This script has the same densities with many digits, and prints
the largest difference to what the files had before.

    python -m venv v && v/bin/pip install mpmath
    v/bin/python bench/exact_vectors.py
"""

import json

import mpmath as mp

mp.mp.dps = 400  # probabilities in the tails are subtracted from 1
FOLDER = "pvi/program/testdata/accepted/"
e, log, sqrt, Phi, lgamma = mp.e, mp.log, mp.sqrt, mp.ncdf, mp.loggamma


def logistic(x):
    return 1 / (1 + e**-x)


def lbeta(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def lchoose(n, k):
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def normal(x, mean, sd):
    return -(((x - mean) / sd) ** 2) / 2 - log(sd)


def grades(d, u):
    c = [u[0], u[0] + e ** u[1], u[0] + e ** u[1] + e ** u[2]]
    b, phi, effects, v = u[3], e ** u[4], u[8:10], u[10]
    z = [mp.tanh(x) for x in u[5:8]]
    rest = (1 - z[1] ** 2) * (1 - z[2] ** 2)
    L = [[1, 0, 0], [z[0], sqrt(1 - z[0] ** 2), 0], [z[1], z[2] * sqrt(1 - z[1] ** 2), sqrt(rest)]]
    lp = u[1] + u[2] + u[4] + sum(log(1 - x * x) for x in z) + log(1 - z[1] ** 2) / 2
    lp += 3 * log(L[1][1]) + 2 * log(L[2][2])  # lkj_corr_cholesky(2)
    lp += sum(normal(x, 0, 2) for x in c) + log(phi) - phi + sum(normal(x, 0, 1) for x in [b, v, *effects])
    for n in range(d["N"]):
        x, s, g, k = d["x"][n], d["z"][n], d["g"][n] - 1, d["grade"][n]
        mu = b * x + effects[g] * (L[1][0] + L[1][1] * s) + v * (L[2][0] * mp.cos(s) + L[2][1] * mp.sin(s) + L[2][2])
        for F in (Phi, logistic):
            lp += log((F(c[k - 1] - mu) if k < 4 else 1) - (F(c[k - 2] - mu) if k > 1 else 0))
        t, h, a1, a2 = d["trials"][n], d["hits"][n], phi * logistic(mu), phi * logistic(-mu)
        lp += lchoose(t, h) + lbeta(h + a1, t - h + a2) - lbeta(a1, a2)
        lp += lchoose(t, h) * log(e**mu + e**v) + lbeta(phi, 1 + mu * mu)
    return lp


def censored(d, u):
    a, b, shape, sigma, rate = u[0], u[1], e ** u[2], e ** u[3], e ** u[4]
    lp = u[2] + u[3] + u[4] + normal(a, 0, 1) + normal(b, 0, 1) + normal(log(shape), 0, 1) - log(shape)
    lp += -2 * log(1 + sigma**2 / 3) - rate
    for n in range(d["N"]):
        x, t, how = mp.mpf(d["x"][n]), mp.mpf(d["t"][n]), d["how"][n]
        mu = a + b * x
        above = {
            0: lambda: mp.exp(-((t / e**mu) ** shape)),
            1: lambda: Phi(-(log(t) - mu) / sigma),
            2: lambda: mp.exp(-rate * t),
            3: lambda: Phi(-(x - mu) / sigma),
            4: lambda: logistic(-(x - mu) / sigma),
            5: lambda: 1 - mp.exp(-mp.exp(-(x - mu) / sigma)),
        }
        if how in above:
            lp += log(above[how]()) + log(1 - above[how]())
        else:
            lp += log(Phi((t - mu) / sigma) - Phi((-t - mu) / sigma))
        lp += log(Phi(mu if how == 3 else -mu))
        lp += normal(log(t), mu, sigma) - log(Phi((log(20) - mu) / sigma))
        lp += log(shape) + shape * (log(t) - mu) - log(t) - (t / e**mu) ** shape + (mp.mpf("0.01") / e**mu) ** shape
        lp += normal(x, mu, sigma) - log(Phi((t + 5 - mu) / sigma) - Phi((-9 - mu) / sigma))
        s = (x - a) / sigma
        lp += log(logistic(s)) + log(logistic(-s)) - log(sigma) - log(logistic(-(-9 - a) / sigma))
    return lp


for density in (grades, censored):
    name = FOLDER + density.__name__ + ".json"
    with open(name) as f:
        v = json.load(f)
    for p in v["points"]:
        u = [mp.mpf(x) for x in p["at"]]
        exact = density(v["data"], u)
        gradient = [mp.diff(lambda x, i=i: density(v["data"], u[:i] + [x] + u[i + 1 :]), u[i]) for i in range(len(u))]
        print(name, mp.nstr(exact - p["log"], 17), mp.nstr(max(abs(x - y) for x, y in zip(gradient, p["gradient"])), 3))
        p["log"], p["gradient"] = float(exact), [float(x) for x in gradient]
    with open(name, "w") as f:
        json.dump(v, f)
