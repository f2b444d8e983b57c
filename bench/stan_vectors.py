"""Makes the vectors of pvi/program/testdata/accepted: what Stan computes for our own programs.
For grades and censored, bench/exact_vectors.py must run afterwards.

    python -m venv v && v/bin/pip install pystan
    v/bin/python bench/stan_vectors.py scalars columns ...

A program takes one to five minutes to compile. The data are made up, from a seed that follows from
the program's name. Each program has four points, on the unconstrained scale in Stan's order.
"""

import json
import math
import random
import sys

import stan

FOLDER = "pvi/program/testdata/accepted/"
ROWS = 7
DIMENSIONS = {"scalars": 5, "columns": 8, "mixture": 9, "counts": 4, "survival": 3, "visits": 15, "links": 5, "functions": 4, "censored": 5, "grades": 11}


def made_up(name):
    r = random.Random(sum(map(ord, name)))

    def normal(scale=1.0):
        return [round(r.gauss(0, scale), 3) for _ in range(ROWS)]

    def positive():
        return [round(math.exp(r.gauss(0, 0.6)), 3) for _ in range(ROWS)]

    def whole(low, high):
        return [r.randint(low, high) for _ in range(ROWS)]

    def matrix(columns):
        return [[round(r.gauss(0, 1), 3) for _ in range(columns)] for _ in range(ROWS)]

    if name == "functions":
        return dict(N=ROWS, x=normal(), y=whole(0, 1), k=[0] + whole(0, 4)[1:])
    if name == "scalars":
        return dict(N=ROWS, x=normal(), t=positive(), k=whole(0, 4), y=whole(0, 1))
    if name == "columns":
        return dict(N=ROWS, K=2, J=3, X=matrix(2), z=normal(), g=whole(1, 3), scale=[1.5, 2.5])
    if name == "mixture":
        return dict(N=ROWS, K=3, y=normal(2))
    if name == "counts":
        t = whole(2, 9)
        y = [0, 0] + whole(0, 5)[2:]
        return dict(N=ROWS, y=y, trials=t, hits=[r.randint(0, n) for n in t], x=normal(), exposure=positive())
    if name == "censored":
        return dict(N=ROWS, t=positive(), how=[0, 1, 2, 3, 4, 5, 6], x=normal())
    if name == "grades":
        t = whole(2, 9)
        return dict(N=ROWS, grade=[1, 2, 3, 4, 2, 3, 1], trials=t, hits=[r.randint(0, n) for n in t], x=normal(), z=normal(), g=whole(1, 2))
    if name == "survival":
        return dict(N=ROWS, t=positive(), dead=whole(0, 1), x=normal())
    if name == "visits":
        y = matrix(3)
        seen = [[r.randint(0, 1) for _ in range(3)] for _ in range(ROWS)]
        return dict(N=ROWS, T=3, J=2, y=y, seen=seen, site=whole(1, 2), grade=whole(1, 4))
    if name == "links":
        X, y, k, z = matrix(3), whole(0, 1), whole(0, 4), normal()
        return dict(N=ROWS, K=3, X=X, y=y, k=k, z=z, share=[round(r.uniform(0.1, 0.9), 3) for _ in range(ROWS)])
    raise ValueError(name)


def main(names):
    for name in names:
        data = made_up(name)
        with open(FOLDER + name + ".stan") as f:
            posterior = stan.build(f.read(), data=data)
        r = random.Random(5)
        points = []
        for _ in range(4):
            at = [round(r.gauss(0, 0.7), 4) for _ in range(DIMENSIONS[name])]
            points.append(dict(at=at, log=posterior.log_prob(at), gradient=list(posterior.grad_log_prob(at))))
        with open(FOLDER + name + ".json", "w") as f:
            json.dump(dict(data=data, points=points), f)


main(sys.argv[1:])
