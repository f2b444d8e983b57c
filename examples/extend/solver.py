"""A solver in Python, for a linear regression with noise of sd 0.5.

The log likelihood of a record is Gaussian in the coefficients. Its natural parameters
are x·y/σ² and the lower triangle of x·xᵀ/σ², so a factor is their sum over the records.
"""

import json
import sys

SIGMA = 0.5


def answer(value):
    print(json.dumps(value), flush=True)


def factor(records):
    size = len(records[0]["x"])
    h = [sum(r["x"][i] * r["y"] for r in records) / SIGMA**2 for i in range(size)]
    precision = [
        sum(r["x"][i] * r["x"][j] for r in records) / SIGMA**2
        for i in range(size)
        for j in range(i + 1)
    ]
    return h + precision


client = json.loads(sys.stdin.readline())
answer({})
for line in sys.stdin:
    json.loads(line)  # the problem: a conjugate factor does not depend on it
    answer({"factor": factor(client["records"])})
