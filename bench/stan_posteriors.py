"""Makes pvi/scoring/testdata/posteriors.json: what Stan's sampler finds for formulas of the bank.

    python -m venv v && v/bin/pip install pystan "arviz<1"
    v/bin/python bench/stan_posteriors.py [FORMULA ...]

Go writes the program of each formula and its records. Stan compiles the program in half a minute,
keeps it in a cache, and samples in a minute. Formulas whose program and records are unchanged are
skipped, unless they are named. The file has numbers alone, in the order of Stan's unconstrained
parameters.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile

import arviz
import httpstan.models
import numpy

import stan_vectors

FILE = "pvi/scoring/testdata/posteriors.json"
CHAINS, WARMUP, DRAWS = 4, 500, 2500


def unconstrained(posterior, fit):
    """Returns the draws as Stan's unconstrained parameters: chains, draws, parameters."""
    module = httpstan.models.import_services_extension_module(posterior.model_name)
    columns = [c.split(".") for c in fit.constrained_param_names]
    values = fit._draws[len(fit.sample_and_sampler_param_names) :]
    declared = dict(zip(fit.param_names, fit.dims))
    rows = {name: [k for k, c in enumerate(columns) if c[0] == name] for name in declared}

    def one(draw):
        # The draws have matrices column by column.
        pars = {name: numpy.reshape(draw[rows[name]], dims, order="F").tolist() for name, dims in declared.items()}
        return module.transform_inits(posterior.data, pars)

    return numpy.array([[one(values[:, k, chain]) for k in range(DRAWS)] for chain in range(CHAINS)])


def sampled(text, data):
    data = {k: [float(x) for x in v] if isinstance(v, list) and any(isinstance(x, float) for x in v) else v for k, v in data.items()}
    posterior = stan_vectors.build(text, data, seed=1)
    fit = posterior.sample(num_chains=CHAINS, num_warmup=WARMUP, num_samples=DRAWS, delta=0.9)
    draws = unconstrained(posterior, fit)
    every = [arviz.convert_to_dataset(draws[:, :, k])["x"].values for k in range(draws.shape[2])]

    def numbers(of):
        return [float(f"{of(x):.6g}") for x in every]

    return dict(
        Draws=CHAINS * DRAWS,
        Divergent=int(fit["divergent__"].sum()),
        Rhat=max(numbers(arviz.rhat)),
        Mean=numbers(numpy.mean),
        MeanError=numbers(lambda x: arviz.mcse(x, method="mean")),
        SD=numbers(lambda x: numpy.std(x, ddof=1)),
        SDError=numbers(lambda x: arviz.mcse(x, method="sd")),
    )


def written(folder):
    """Lets Go write programs and records, and returns the names of the formulas."""
    subprocess.run(["go", "test", "./pvi/scoring", "-run", "TestPosteriorsOfFormulas", "-args", "-stan", folder], check=True)
    return sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".stan"))


def main(names):
    known = {}
    if os.path.exists(FILE):
        with open(FILE) as f:
            known = json.load(f)
    with tempfile.TemporaryDirectory() as folder:
        for name in written(folder):
            with open(f"{folder}/{name}.stan") as f, open(f"{folder}/{name}.json") as g:
                text, data = f.read(), g.read()
            digest = hashlib.sha256((text + data).encode()).hexdigest()
            if name not in names if names else known.get(name, {}).get("Digest") == digest:
                continue
            known[name] = dict(Digest=digest, **sampled(text, json.loads(data)))
            lines = [f"{json.dumps(n)}: {json.dumps(known[n])}" for n in sorted(known)]
            with open(FILE, "w") as f:
                f.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
