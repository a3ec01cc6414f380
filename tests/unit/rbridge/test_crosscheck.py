"""Draw for draw: the same steps in the real package and in ours."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rbridge
from rbridge.report import Agreement, Comparison, Report
from tests.unit.rbridge.engines import WAYS, running

LEAVES = [
    ("constant", {}),
    *(("linear", {"icept": icept}) for icept in ("implicit", "augmented", "none")),
    ("class", {}),
]
PROPOSALS = ("luvar", "luall", "reject")
CASES = list(itertools.product(LEAVES, PROPOSALS))


def rows(model: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    X = rng.random((60, 3))
    X[:, 2] = np.round(4 * X[:, 2]) / 4
    y = np.sin(5 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + rng.normal(0, 0.2, 60)
    return X, 1.0 + (y > 0.6) + (y > 1.1) if model == "class" else y


def steps(model: str, icept: str, X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Every change of the cloud, then every question that the model can answer."""
    changes = [
        ("update", {"X": X[45:50], "y": y[45:50]}),
        ("retire", {"indices": [2, 5, 9], "lambda_": 0.9}),
        "rejuvenate",
        ("predict", {"XX": X[50:]}),
        ("update", {"X": X[50:55], "y": y[50:55]}),
    ]
    if icept == "implicit":
        del changes[1]  # such leaves cannot retire rows
    new = {"XX": X[55:]}
    if model == "class":
        asked = [
            ("predict", {**new, "yy": y[55:]}),
            "entropyX",
            ("classprobs", {**new, "cls": 2, "output": "both"}),
        ]
    else:
        asked = [
            ("predict", {**new, "yy": y[55:], "ei": True}),
            ("alcalc", {"method": "ei"}),
            ("alc", new),
            "alcX",
            ("qEI", new),
            ("qEntropy", new),
            ("ieci", {**new, "Xref": X[:4], "probs": np.ones((30, 4))}),
        ]
    if model == "linear":
        asked.append(("coef", new))
    last = [
        "relevance",
        ("sens", {"nns": 60, "nME": 6}),
        ("sameleaf", {"X": X[55:]}),
        ("intervals", {"index": 3, "var": 1}),
        "copy",
        ("update", {"X": X[55:], "y": y[55:]}),
    ]
    return [*changes, *asked, *last]


@pytest.mark.cran
@pytest.mark.parametrize("backend", WAYS)
@pytest.mark.parametrize(("leaves", "rprop"), CASES)
def test_engines_agree_draw_for_draw(
    leaves: tuple[str, dict[str, Any]], rprop: str, backend: str
) -> None:
    r = running(backend, cran=True)
    model, more = leaves
    X, y = rows(model)
    plan = steps(model, more.get("icept", ""), X, y)
    report = rbridge.crosscheck(
        X[:45],
        y[:45],
        seed=21,
        model=model,
        options={"N": 30, "rprop": rprop, **more},
        steps=plan,
        session=r,
    )
    assert report.draw_for_draw, report.summary()
    frame = report.to_frame()
    assert frame["agrees"].all()
    assert (frame.loc[frame["quantity"] == "stream", "absolute"] == 0.0).all()
    assert sorted(set(frame["step"])) == list(range(len(plan) + 1))
    assert {"lpred", "mean" if model != "class" else "p", "S"} <= set(frame["quantity"])
    assert (
        f"draw for draw; largest relative difference {report.worst.relative:.2e}"
        in (report.summary())
    )


@pytest.mark.cran
@pytest.mark.parametrize("backend", WAYS)
def test_a_later_prediction_drops_what_it_does_not_give(backend: str) -> None:
    r = running(backend, cran=True)
    X, y = rows("constant")
    plan = [
        ("predict", {"XX": X[:2], "ei": True}),
        ("predict", {"XX": X[:3], "quants": False}),
    ]
    report = rbridge.crosscheck(X, y, options={"N": 30}, steps=plan, session=r)
    assert report.draw_for_draw, report.summary()


@pytest.mark.cran
def test_a_difference_is_found_where_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    from dyntree.api import rmirror

    r = running("subprocess", cran=True)
    X, y = rows("constant")
    plan = [("predict", {"XX": X[:3]}), ("update", {"X": X[45:], "y": y[45:]})]
    fit = rmirror.dynaTree

    @functools.wraps(fit)
    def one_draw_late(*args: Any, **named: Any) -> Any:
        found = fit(*args, **named)
        found.rng.uniforms(1)
        return found

    monkeypatch.setattr(rmirror, "dynaTree", one_draw_late)
    report = rbridge.crosscheck(
        X[:45], y[:45], options={"N": 30}, steps=plan, session=r
    )
    first = report.first_difference
    assert not report.draw_for_draw
    assert first is not None
    assert (first.step, first.quantity) == (0, "stream")
    assert report.statistical is None
    told = report.summary().splitlines()
    assert told[-1] == "not draw for draw: stream differs first, at step 0 (dynaTree)"
    assert sum(line.endswith("DIFFERS") for line in told) >= 3


@pytest.mark.cran
@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_seeds_are_compared_where_bits_differ(
    monkeypatch: pytest.MonkeyPatch, shift: float
) -> None:
    """Without a shift this fails for one seed in a thousand, the level of the tests."""
    from dyntree.api import rmirror

    r = running("subprocess", cran=True)
    X, y = rows("constant")
    fit = rmirror.dynaTree

    @functools.wraps(fit)
    def otherwise(X: Any, y: Any, *args: Any, **named: Any) -> Any:
        return fit(
            X, np.asarray(y) + shift, *args, **{**named, "seed": named["seed"] + 5}
        )

    monkeypatch.setattr(rmirror, "dynaTree", otherwise)
    report = rbridge.crosscheck(
        X[:30],
        y[:30],
        options={"N": 10},
        steps=[("predict", {"XX": X[:9]})],
        session=r,
        n_seeds=40,
    )
    assert not report.draw_for_draw
    assert report.statistical == (shift == 0.0)
    tested = {one.quantity for one in report.agreements}
    assert {"lpred", "mean", "treestats"} <= tested
    assert ("y" in tested) == (shift > 0.0)
    word = "no difference" if shift == 0.0 else "another distribution"
    assert f"over 2 x 40 seeds {word} at level 0.001" in report.verdict
    assert report.summary().endswith(report.verdict)


def test_too_few_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="n_seeds must be 0, or at least 20"):
        rbridge.crosscheck([[1.0]], [1.0], n_seeds=3)


@pytest.mark.cran
def test_the_same_report_from_either_backend() -> None:
    X, y = rows("constant")
    frames = [
        rbridge.crosscheck(
            X, y, options={"N": 30}, session=running(way, cran=True)
        ).to_frame()
        for way in WAYS
    ]
    assert frames[0].equals(frames[1])


def test_unknown_steps_are_refused_before_r_is_asked() -> None:
    with pytest.raises(
        ValueError, match=r"steps must be of update, .*; got 'dynaTree'"
    ):
        rbridge.crosscheck([[1.0]], [1.0], steps=["dynaTree"])


def test_a_report_can_be_read_without_r(tmp_path: Path) -> None:
    known = {"R": "R 4", "BLAS": "b", "backend": "subprocess", "dynaTree": "1.2.17"}
    good = Comparison(0, "dynaTree", "lpred", 9, 1e-12, 1e-13, 1e-8)
    bad = Comparison(1, "predict", "mean", 3, 0.5, np.inf, 1e-8)
    assert Report(3, known, (good,)).draw_for_draw
    report = Report(3, known, (good, bad, good))
    assert report.first_difference is bad
    assert report.worst is bad
    assert report.to_frame()["agrees"].tolist() == [True, False, True]
    figure = report.plot()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["0 dynaTree: lpred", "1 predict: mean", "0 dynaTree: lpred"]
    agreement = Agreement(1, "predict", "mean", 0.5, 0.75, 0.02)
    tested = Report(3, known, (good, bad), (agreement,), 40, 0.001)
    assert tested.statistical
    assert "1 predict         mean                     0.5          0.75     0.02" in (
        tested.summary()
    )
    assert not Report(3, known, (bad,), (agreement,), 40, 0.05).statistical
    figure.savefig(tmp_path / "report.png")
    assert "1 predict         mean                3   5.00e-01        inf  DIFFERS" in (
        report.summary()
    )


@pytest.mark.cran
def test_a_particle_without_a_scale_gives_no_density() -> None:
    """Leaves whose columns are collinear; R's NaN are ours."""
    r = running("subprocess", cran=True)
    rng = np.random.default_rng(8)
    flat = [rng.random(120), rng.random(120) > 0.6, rng.choice([0.1, 0.3, 0.7], 120)]
    X = np.column_stack(flat)
    y = np.sin(5 * X[:, 0]) + 0.5 * X[:, 1] + rng.normal(0, 0.2, 120)
    report = rbridge.crosscheck(
        X[:100],
        y[:100],
        model="linear",
        options={"N": 200, "icept": "augmented"},
        steps=[("predict", {"XX": X[100:], "yy": y[100:]})],
        session=r,
    )
    assert report.draw_for_draw, report.summary()
    from dyntree.api import rmirror

    fit = rmirror.dynaTree(
        X[:100], y[:100], 200, "linear", icept="augmented", verb=0, seed=1
    )
    assert np.isnan(rmirror.predict(fit, X[100:], y[100:]).yypred).any()


def test_without_a_seed_nothing_is_compared() -> None:
    with pytest.raises(ValueError, match="so that nothing can be compared"):
        rbridge.crosscheck([[1.0]], [1.0], seed=None)  # type: ignore[arg-type]
