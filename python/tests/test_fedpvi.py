import math
import pathlib
import re
import tomllib

import pytest

import fedpvi

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSPITALS = ROOT / "experiments" / "demo" / "hospitals.toml"


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory):
    return fedpvi.run(HOSPITALS, out=tmp_path_factory.mktemp("runs") / "hospitals", seed=3)


def test_run_has_the_numbers_of_its_files(hospitals):
    assert [e.name for e in hospitals.effects] == ["intercept", "age", "stay", "diagnosis[heart]", "diagnosis[lung]"]
    for e in hospitals.effects:
        assert e.low < e.mean < e.high and e.unit.startswith("log odds")
        assert math.isclose((e.high - e.low) / e.sd, 2 * 1.959964, rel_tol=1e-6)
    assert hospitals.estimates["age"] == hospitals.effects[1].mean
    assert "ε = 1 at δ = 1e-05" in hospitals.statement
    assert "Admitted again" in hospitals.report.read_text(encoding="utf-8")
    again = fedpvi.read(hospitals.folder)
    assert again.effects == hospitals.effects and again.notes == hospitals.notes


def test_draws_have_the_moments_of_the_effects(hospitals):
    draws = hospitals.draws()
    assert list(draws)[:3] == ["intercept", "age", "stay"]
    for name, e in zip(draws, hospitals.effects):
        flat = [x for chain in draws[name] for x in chain]
        mean = sum(flat) / len(flat)
        assert len(flat) == 4000
        # Five standard errors of the mean of 4,000 independent draws.
        assert abs(mean - e.mean) < 5 * e.sd / math.sqrt(len(flat))


def test_inference_data_is_read_by_arviz(hospitals):
    arviz = pytest.importorskip("arviz")
    summary = arviz.summary(hospitals.inference_data())
    assert summary.shape[0] == 5
    assert abs(float(summary["mean"].iloc[0]) - hospitals.effects[0].mean) < 0.05


def test_plot_has_a_row_for_each_effect(hospitals):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    ax = hospitals.plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == [e.name for e in hospitals.effects]


def test_a_seed_gives_the_same_run(hospitals):
    again = fedpvi.run(HOSPITALS, seed=3)
    assert again.result["posterior"] == hospitals.result["posterior"]
    other = fedpvi.run(HOSPITALS, seed=3, set={"privacy.epsilon": 0.5})
    assert other.result["privacy"]["views"][0]["epsilon"] == pytest.approx(0.5, rel=1e-3)


def example():
    text = (ROOT / "python" / "README.md").read_text(encoding="utf-8")
    return re.search(r"```python\n(.*?)```", text, re.S).group(1)


def test_example_of_the_readme_runs(capsys):
    pytest.importorskip("arviz")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    exec(compile(example(), "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("0.99999") or printed.startswith("1.0")
    assert "age" in printed


def test_study_text_is_toml_with_the_same_values():
    hostile = 'a "b" \\ \n \x7f ü'
    study = fedpvi.Study(
        name="s",
        title=hostile,
        columns=[fedpvi.Column("x", bounds=(0, 1e-9)), fedpvi.Column("y", levels=["no", hostile])],
        model={"terms": ["x"], "prior scale": {"b[1]": 2.5, "flag": True}},
        privacy={"unit": "none"},
    )
    read = tomllib.loads(study.text())
    assert read["study"] == {"version": 3, "name": "s", "title": hostile}
    assert read["model"] == {"terms": ["x"], "prior scale": {"b[1]": 2.5, "flag": True}}
    assert [c["name"] for c in read["column"]] == ["x", "y"] and read["column"][1]["levels"][1] == hostile


def test_errors_are_those_of_the_program(tmp_path):
    with pytest.raises(ValueError, match="column x: give bounds or levels"):
        fedpvi.Column("x")
    bad = fedpvi.Study(name="bad", columns=[fedpvi.Column("x", bounds=(0, 1))], model={"family": "nothing"}, privacy={"unit": "none"})
    with pytest.raises(fedpvi.ProgramError, match="family") as caught:
        fedpvi.plan(bad)
    assert caught.value.code == 1
    with pytest.raises(fedpvi.ProgramError):
        fedpvi.privacy(steps=-1)


def test_privacy_is_the_calculator():
    answer = fedpvi.privacy(sampling="poisson", noise_multiplier=1, q=0.01, steps=1000, delta=1e-5)
    assert 1.82 < answer["epsilon_upper"] < 1.84  # 1.83, docs/prove/privacy.md


def test_sweep_has_its_rows(tmp_path):
    spec = tmp_path / "sweep.toml"
    spec.write_text(f'[sweep]\nname = "small"\nstudy = "{HOSPITALS}"\nseeds = 2\n')
    result = fedpvi.sweep(spec, out=tmp_path / "results", progress=False)
    assert len(result.rows) == 2 and {row["seed"] for row in result.rows} == {1.0, 2.0}
