"""Study files."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any, Mapping, Sequence

from ._program import toml


@dataclasses.dataclass(frozen=True)
class Column:
    """A column that every file of records must have. Bounds and levels are public.

    Attributes:
        name: the name of the column.
        bounds: the smallest and the largest value of a numeric column.
        levels: the levels of any other column; the first is the baseline.
        unit: the unit of a numeric column, for tables.
        outside: the rule for a value out of bounds: "drop", "clamp" or "refuse".
        missing: the rule for a missing value: "drop" or "refuse".
    """

    name: str
    bounds: tuple[float, float] | None = None
    levels: Sequence[str] | None = None
    unit: str | None = None
    outside: str = "drop"
    missing: str = "drop"

    def __post_init__(self) -> None:
        if (self.bounds is None) == (self.levels is None):
            raise ValueError(f"column {self.name}: give bounds or levels")

    def _keys(self) -> dict[str, Any]:
        keys: dict[str, Any] = {"name": self.name}
        if self.bounds is not None:
            keys |= {"type": "numeric", "bounds": list(self.bounds)}
        else:
            keys |= {"type": "categorical", "levels": list(self.levels or [])}
        if self.unit is not None:
            keys["unit"] = self.unit
        return keys | {"outside": self.outside, "missing": self.missing}


@dataclasses.dataclass(frozen=True)
class Study:
    """A study. The dictionaries are tables of the study file, docs/use/study.md.

    Example:
        Study(
            name="readmission",
            columns=[Column("age", bounds=(18, 100)), Column("again", levels=["no", "yes"])],
            model={"family": "logistic", "outcome": "again", "positive": "yes", "terms": ["age"]},
            privacy={"unit": "record", "epsilon": 1.0, "delta": 1e-5},
            tables={"federation": {"nominal_records": 2000}},
            simulation={"clients": 3, "synthetic": {"records_per_client": 2000}},
        )
    """

    name: str
    columns: Sequence[Column]
    model: Mapping[str, Any]
    privacy: Mapping[str, Any]
    title: str | None = None
    tables: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    simulation: Mapping[str, Any] | None = None

    def text(self) -> str:
        """Returns the study file. The programs check it, not this package."""
        head: dict[str, Any] = {"version": 3, "name": self.name}
        if self.title is not None:
            head["title"] = self.title
        tables = {"study": head, "model": self.model, "privacy": self.privacy, **self.tables}
        if self.simulation is not None:
            tables["simulation"] = self.simulation
        parts = [f"[{name}]\n{_lines(table)}" for name, table in tables.items()]
        parts += [f"[[column]]\n{_lines(c._keys())}" for c in self.columns]
        return "\n".join(parts)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the study file."""
        pathlib.Path(path).write_text(self.text(), encoding="utf-8")


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(key)} = {toml(value)}\n" for key, value in table.items())


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else toml(key)
