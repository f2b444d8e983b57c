"""Finds and starts the programs."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any, Mapping


class ProgramError(RuntimeError):
    """A program ended with an error. The message is that of the program.

    Attributes:
        code: the exit code; see docs/use/exit-codes.md.
    """

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code


def program(name: str = "sim") -> str:
    """Returns the path of a program: "sim", "coordinator" or "client".

    The folder FEDPVI_BIN is tried first, then the programs of this package, then PATH.

    Raises:
        FileNotFoundError: the program is in none of them.
    """
    folders = [os.environ.get("FEDPVI_BIN"), str(pathlib.Path(__file__).parent / "bin")]
    for folder in filter(None, folders):
        found = shutil.which(name, path=folder)
        if found:
            return found
    found = shutil.which(name)
    if found:
        return found
    raise FileNotFoundError(f"the program {name} is not installed: set FEDPVI_BIN to the folder that make build fills")


def flags(settings: Mapping[str, Any]) -> list[str]:
    """Returns settings as flags. None and False leave a flag out; a list repeats it."""
    out = []
    for key, value in settings.items():
        flag = "--" + key.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                out.append(flag)
            elif one is not None and one is not False:
                out.append(f"{flag}={one}")
    return out


def overrides(settings: Mapping[str, Any] | None) -> list[str]:
    """Returns replaced settings of a study as flags --set. Values are written as TOML values."""
    return [f"--set={key}={toml(value)}" for key, value in (settings or {}).items()]


def toml(value: Any) -> str:
    """Returns a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml(str(k))} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    raise TypeError(f"{value!r} is no value of a study file")


def start(arguments: list[str], progress: bool = False) -> str:
    """Runs sim and returns its standard output. Progress goes to standard error."""
    done = subprocess.run(
        [program(), *arguments],
        stdout=subprocess.PIPE,
        stderr=None if progress else subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    if done.returncode != 0:
        message = (done.stderr or "").strip() or f"sim ended with exit code {done.returncode}"
        raise ProgramError(message, done.returncode)
    return done.stdout
