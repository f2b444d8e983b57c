import math
import pathlib
import re

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[1] / "examples").glob("*.ipynb"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def outputs(notebook):
    """Returns the texts of a notebook's outputs, and the number of its plots."""
    texts, plots = [], 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            plots += "image/png" in data
            if "image/png" not in data:
                texts.append(output.get("text") or data.get("text/plain"))
    return texts, plots


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_has_the_outputs_that_it_shows(path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the notebook shows its plots itself
    shown = nbformat.read(path, as_version=4)
    texts, plots = outputs(shown)
    assert plots == 1
    played = NotebookClient(nbformat.read(path, as_version=4), timeout=300, kernel_name="python3").execute()
    again, drawn = outputs(played)
    assert drawn == plots and len(again) == len(texts)
    for a, b in zip(texts, again):
        assert NUMBER.sub("#", a) == NUMBER.sub("#", b)
        # The last digits depend on the processor.
        assert all(math.isclose(float(x), float(y), rel_tol=0.02) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))


def test_there_is_a_notebook():
    assert NOTEBOOKS
