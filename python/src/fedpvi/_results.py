"""Results of runs and sweeps."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import pathlib
from typing import Any


@dataclasses.dataclass(frozen=True)
class Effect:
    """The posterior of a parameter in natural units, with its 95 % interval."""

    name: str
    mean: float
    sd: float
    low: float
    high: float
    unit: str


@dataclasses.dataclass
class Run:
    """The results of a run.

    Attributes:
        folder: the folder with all files of the run.
        result: the content of run.json.
    """

    folder: pathlib.Path
    result: dict[str, Any]
    _temporary: Any = dataclasses.field(default=None, repr=False)

    @property
    def effects(self) -> list[Effect]:
        """The posterior of each parameter. It is empty for a study without intervals."""
        shown = (self.result.get("noise_aware") or {}).get("marginals") or self.result.get("posterior") or []
        return [
            Effect(m["name"], m["natural_mean"], m["natural_sd"], m["natural_low"], m["natural_high"], m["unit"]) for m in shown
        ]

    @property
    def estimates(self) -> dict[str, float]:
        """Point estimates in natural units by name: means of the posterior where there is one."""
        if self.result.get("estimates"):
            return {e["name"]: e["natural_estimate"] for e in self.result["estimates"]}
        return {e.name: e.mean for e in self.effects}

    @property
    def notes(self) -> list[str]:
        """Sentences that must be shown with the posterior."""
        return self.result.get("notes") or []

    @property
    def statement(self) -> str:
        """The privacy statement."""
        return (self.folder / "privacy.txt").read_text(encoding="utf-8")

    @property
    def report(self) -> pathlib.Path:
        """The path of the report, one HTML page."""
        return self.folder / "report.html"

    def draws(self, natural: bool = True) -> dict[str, list[list[float]]]:
        """Returns independent draws from the posterior: for each parameter a list for each chain.

        Args:
            natural: whether the draws are in natural units, or on the model's scale.
        """
        out: dict[str, list[list[float]]] = {}
        for path in sorted(self.folder.glob("natural-draws-*.csv" if natural else "draws-*.csv")):
            with open(path, encoding="utf-8", newline="") as f:
                rows = list(csv.reader(line for line in f if not line.startswith("#")))
            for i, name in enumerate(rows[0]):
                if not name.endswith("__"):
                    out.setdefault(name, []).append([float(row[i]) for row in rows[1:]])
        return out

    def inference_data(self, natural: bool = True) -> Any:
        """Returns the draws for ArviZ. It needs the package arviz."""
        import arviz
        import numpy

        draws = {name: numpy.array(chains) for name, chains in self.draws(natural).items()}
        try:
            return arviz.from_dict(posterior=draws)
        except TypeError:  # from version 1 on
            return arviz.from_dict({"posterior": draws})

    def plot(self, ax: Any = None) -> Any:
        """Plots the means and 95 % intervals of all effects in sds of each effect, and returns the
        axes. It needs the package matplotlib."""
        import matplotlib.pyplot

        ax = ax or matplotlib.pyplot.subplots(figsize=(6, 0.35 * len(self.effects) + 1))[1]
        for i, e in enumerate(self.effects):
            ax.plot([e.low / e.sd, e.high / e.sd], [i, i], color="tab:blue")
            ax.plot([e.mean / e.sd], [i], "o", color="tab:blue")
        ax.axvline(0, color="grey", linestyle=":")
        ax.set_yticks(range(len(self.effects)), [e.name for e in self.effects])
        ax.invert_yaxis()
        ax.set_xlabel("mean and 95 % interval, in posterior sds")
        return ax


def read(folder: str | os.PathLike[str]) -> Run:
    """Returns the results of a run that sim has written into a folder."""
    path = pathlib.Path(folder)
    return Run(path, json.loads((path / "run.json").read_text(encoding="utf-8")))


@dataclasses.dataclass(frozen=True)
class Sweep:
    """The results of a sweep.

    Attributes:
        folder: the folder with all files of the sweep.
        rows: a row for each run and metric, as in results.csv; numbers are floats.
    """

    folder: pathlib.Path
    rows: list[dict[str, Any]]


def read_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Returns the results of a sweep that sim has written into a folder."""
    path = pathlib.Path(folder)
    with open(path / "results.csv", encoding="utf-8", newline="") as f:
        return Sweep(path, [{k: _number(v) for k, v in row.items()} for row in csv.DictReader(f)])


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
