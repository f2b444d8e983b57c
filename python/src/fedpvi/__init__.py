"""Run and read federated, differentially private Bayesian studies.

    import fedpvi

    plan = fedpvi.plan("study.toml")              # the cost, before anything is spent
    run = fedpvi.run("study.toml", seed=1)        # a whole federation on this machine
    for effect in run.effects:
        print(effect.name, effect.mean, effect.low, effect.high, effect.unit)
    run.inference_data()                          # for ArviZ

All computation is done by the program sim, also everything about privacy. This package starts the
program and reads its files.
"""

from ._program import ProgramError, program
from ._results import Effect, Run, Sweep, read, read_sweep
from ._sim import plan, privacy, run, sweep
from ._study import Column, Study

__all__ = [
    "Column",
    "Effect",
    "ProgramError",
    "Run",
    "Study",
    "Sweep",
    "plan",
    "privacy",
    "program",
    "read",
    "read_sweep",
    "run",
    "sweep",
]
