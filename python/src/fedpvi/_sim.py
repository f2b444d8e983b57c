"""The commands of sim."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any, Mapping

from ._program import flags, overrides, start
from ._results import Run, Sweep, read, read_sweep
from ._study import Study

Path = str | os.PathLike[str]


def _path(study: Path | Study, folder: str) -> str:
    """Returns the path of a study file. A Study is written into the folder."""
    if isinstance(study, Study):
        path = pathlib.Path(folder) / f"{study.name}.toml"
        study.write(path)
        return str(path)
    return os.fspath(study)


def plan(study: Path | Study, *, set: Mapping[str, Any] | None = None, clients: int | None = None) -> dict[str, Any]:
    """Returns the cost of a study's privacy target. It reads no records and spends nothing.

    Args:
        study: a study, or the path of its file.
        set: settings to replace, such as {"privacy.epsilon": 0.5}.
        clients: the number of clients; by default that of the study's simulation.
    """
    with tempfile.TemporaryDirectory() as folder:
        text = start(["plan", _path(study, folder), "--json", *overrides(set), *flags({"clients": clients})])
    return json.loads(text)


def run(
    study: Path | Study,
    *,
    out: Path | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    data: Path | None = None,
    non_private: bool = False,
    progress: bool = False,
) -> Run:
    """Runs a whole federation in one process, and returns its results.

    Args:
        study: a study, or the path of its file.
        out: the folder to create for the results; by default a temporary folder that is removed
            together with the Run.
        seed: the seed of records, partition and noise; by default that of the study.
        set: settings to replace, such as {"privacy.epsilon": 0.5}.
        data: a file of records to use in place of the study's.
        non_private: whether to remove the privacy promise.
        progress: whether to show progress on standard error.
    """
    temporary = None
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="fedpvi-")
        out = pathlib.Path(temporary.name) / "run"
    with tempfile.TemporaryDirectory() as folder:
        settings = {"out": os.fspath(out), "seed": seed, "data": data and os.fspath(data), "non_private": non_private, "quiet": not progress}
        start(["run", _path(study, folder), "--json", *overrides(set), *flags(settings)], progress)
    result = read(out)
    result._temporary = temporary
    return result


def sweep(spec: Path, *, out: Path | None = None, workers: int | None = None, progress: bool = True) -> Sweep:
    """Runs a study over a grid of settings and seeds. A sweep that was stopped continues.

    Args:
        spec: the path of the file of the sweep.
        out: the folder of the results; by default the one that sim chooses.
        workers: the number of runs at a time; by default one for each core.
        progress: whether to show progress on standard error.
    """
    text = start(["sweep", os.fspath(spec), "--json", *flags({"out": out and os.fspath(out), "workers": workers, "quiet": not progress})], progress)
    return read_sweep(json.loads(text)["folder"])


def privacy(**settings: Any) -> dict[str, Any]:
    """Returns the cost of noise, or the noise for a budget, as sim privacy computes it.

    Example: privacy(sampling="poisson", noise_multiplier=1, q=0.01, steps=1000, delta=1e-5)
    """
    return json.loads(start(["privacy", "--json", *flags(settings)]))
