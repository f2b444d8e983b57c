"""Makes the vectors of pvi/program/testdata: what Stan computes for our own programs.
For grades and censored, bench/exact_vectors.py must run afterwards.

    python -m venv v && v/bin/pip install pystan
    v/bin/python bench/stan_vectors.py scalars columns ...

A program takes half a minute to compile. The data are made up, from a seed that follows from
the program's name. Each program has four points, on the unconstrained scale in Stan's order. For
programs in the folders generated and predicted there are five, with the generated quantities at each.
"""

import asyncio
import glob
import json
import math
import random
import re
import sys

import httpstan.cache
import httpstan.models
import numpy
import stan

FOLDER = "pvi/program/testdata/"
ROWS = 7
DIMENSIONS = {"scalars": 5, "columns": 8, "mixture": 9, "counts": 4, "survival": 3, "visits": 15, "links": 5, "functions": 4, "censored": 5, "grades": 11, "risks": 8, "effects": 12, "durations": 3, "hits": 3}


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
    if name == "risks":
        return dict(N=ROWS, J=3, x=normal(), k=whole(0, 6), site=whole(1, 3))
    if name == "effects":
        return dict(N=ROWS, score=normal(2), z=normal(), g=whole(1, 3))
    if name == "durations":
        return dict(N=ROWS, t=positive(), x=normal())
    if name == "hits":
        t = whole(2, 9)
        return dict(N=ROWS, hits=[r.randint(0, n) for n in t], trials=t, x=normal())
    raise ValueError(name)


def build(text, data, seed=None):
    """Compiles a program, unless the cache has it. Less optimisation than Stan's own takes a fifth of the time."""
    name = httpstan.models.calculate_model_name(text)
    try:
        httpstan.models.import_services_extension_module(name)
    except KeyError:
        output = asyncio.run(httpstan.models.build_services_extension_module(text, ["-O1", "-std=c++14"]))
        httpstan.cache.dump_services_extension_module_compiler_output(output, name)
        httpstan.cache.dump_stanc_warnings("", name)
    return stan.build(text, data=data, random_seed=seed)


def generated(posterior, at):
    """Returns the generated quantities by name. Matrices have their elements by rows."""
    module = httpstan.models.import_services_extension_module(posterior.model_name)
    values, out, first = module.write_array(posterior.data, at, True, True), {}, 0
    for name, dims in zip(module.get_param_names(posterior.data), module.get_dims(posterior.data)):
        size = math.prod(dims)
        out[name] = numpy.reshape(values[first : first + size], dims, order="F").ravel().tolist()
        first += size
    return out


def main(names):
    for name in names:
        data = made_up(name)
        (file,) = glob.glob(f"{FOLDER}*/{name}.stan")
        with open(file) as f:
            text = f.read()
        posterior = build(text, data)
        _, _, after = text.partition("generated quantities {")
        r = random.Random(5)
        points = []
        for _ in range(5 if after else 4):
            at = [round(r.gauss(0, 0.7), 4) for _ in range(DIMENSIONS[name])]
            point = dict(at=at, log=posterior.log_prob(at), gradient=list(posterior.grad_log_prob(at)))
            if after:
                values = generated(posterior, at).items()
                point["generated"] = {k: v for k, v in values if re.search(rf"[\]>tl] {k}( =|;)", after)}
            points.append(point)
        with open(file.removesuffix("stan") + "json", "w") as f:
            json.dump(dict(data=data, points=points), f)


if __name__ == "__main__":
    main(sys.argv[1:])
