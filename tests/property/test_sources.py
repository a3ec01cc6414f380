"""One table is one table: as CSV, NDJSON, Parquet, Arrow, and as a frame."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dyntree
from dyntree import AveragedStream, StreamingTree, cli
from tests.helpers import mostly_slow

pytest.importorskip("pyarrow", reason="needs pyarrow")

TEXTS = [
    "NA", "N/A", "null", "NULL", "None", "nan", "NaN", "-nan", "", "007", "1", "01",
    "1.0", "1e3", "1,5", "1_0", "True", "true", "inf", "-", "?", " a", "a ", "a,b", '"',
    'say "no"', "two\nlines", "Zoë", "数", "9" * 40, "u", "0", "2024-01-01", "null ",
]  # fmt: skip
N = 24
FORMATS = ("csv", "ndjson", "parquet", "arrow")
RANDOM = np.random.default_rng(3)
X, NOISE = RANDOM.random(N).round(3), RANDOM.normal(0.0, 0.1, N).round(3)
KINDS = st.lists(st.sampled_from(TEXTS), min_size=2, max_size=4, unique=True)
PLACES = st.lists(st.integers(0, 7), min_size=N, max_size=N)
QUIET = ["--particles", "8", "--seed", "1", "--quiet"]
WINDOW = ["--window", "500"]


def missing_word(texts: list[str]) -> str:
    """A word by which CSV can say that a value is missing, and that is no level."""
    return next(word for word in ("", "NA", "NaN", "null", "None") if word not in texts)


def write(frame: pd.DataFrame, path: Path, missing: str) -> Path:
    """A table in the format that the name of its file says."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    if path.suffix == ".csv":
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(
            [list(frame), *([missing if v is None else v for v in row.values()]
                            for row in rows)]
        )  # fmt: skip
        path.write_bytes(text.getvalue().encode())
    elif path.suffix == ".ndjson":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path, compression="uncompressed")
    return path


def words(texts: list[str]) -> str:
    """Levels or classes as an option names them."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(texts)
    return text.getvalue().removesuffix("\n")


def call(*arguments: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert cli.main([str(one) for one in arguments]) == 0


def means(path: Path) -> list[float]:
    """Predictive means that were written, bit for bit."""
    with path.open(newline="") as file:
        return [float(row["mean"]) for row in csv.DictReader(file)]


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def table(kinds: list[str], places: list[int]) -> pd.DataFrame:
    """Rows of which each level has its own mean; some have none."""
    known = [k if k < len(kinds) else None for k in places]
    known[: len(kinds)] = range(len(kinds))
    y = [NOISE[i] if k is None else 5.0 * k + NOISE[i] for i, k in enumerate(known)]
    s = pd.Series([None if k is None else kinds[k] for k in known], dtype=object)
    return pd.DataFrame({"x": X, "s": s, "y": y})


@pytest.mark.parametrize("is_named", [True, False])
@settings(max_examples=8, deadline=None)
@given(kinds=KINDS, places=PLACES)
def test_levels(is_named: bool, kinds: list[str], places: list[int]) -> None:
    """A model of any source is that of the frame, and answers any source alike."""
    frame, missing = table(kinds, places), missing_word(kinds)
    levels = {"categories": {"s": kinds}} if is_named else {}
    tree = StreamingTree("constant", n_particles=8, seed=1, **levels)
    tree.update(frame[["x", "s"]], frame["y"])
    answer = tree.predict(frame[["x", "s"]]).mean.tolist()
    more = [f"--levels=s={words(kinds)}"] if is_named else []
    rest = ["--formula", "y ~ x + s", "--model=constant", *WINDOW, *QUIET]
    with folder() as here:
        files = [write(frame, here / f"a.{kind}", missing) for kind in FORMATS]
        for path in files if is_named else files[1:]:
            call("fit", path, "--out", here / "m", *rest, *more)
            model = dyntree.load(here / "m")
            assert model.feature_names == tree.feature_names
            assert model.log_evidence == tree.log_evidence
            for asked in files if path.suffix == ".parquet" else files[:1]:
                call("predict", here / "m", asked, "--out", here / "p.csv")
                assert means(here / "p.csv") == answer


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(kinds=KINDS, places=PLACES)
def test_levels_of_formulas(kinds: list[str], places: list[int]) -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    frame, missing = table(kinds, places), missing_word(kinds)
    named = [f"--levels=s={words(kinds)}"]
    rest = ["--formula", "y ~ x + C(s)", *QUIET]
    with folder() as here:
        files = [write(frame, here / f"a.{kind}", missing) for kind in FORMATS]
        for more in (named, []):
            answers = []
            for path in files if more else files[1:]:
                call("fit", path, "--out", here / "m", *rest, *more)
                for asked in files if path.suffix == ".parquet" else files[:1]:
                    call("predict", here / "m", asked, "--out", here / "p.csv")
                    answers.append((here / "p.csv").read_text())
            assert {*answers} == {answers[0]}


@settings(max_examples=10, deadline=None)
@given(kinds=KINDS, places=PLACES)
def test_classes(kinds: list[str], places: list[int]) -> None:
    frame = table(kinds, [place % len(kinds) for place in places])[["x", "s"]]
    frame["x"] += [5.0 * kinds.index(text) for text in frame["s"]]
    for more in ([f"--classes={words(kinds)}"], []):
        classes = kinds if more else None
        tree = StreamingTree("class", n_particles=8, seed=1, classes=classes)
        tree.update(frame[["x"]], frame["s"])
        answer = tree.predict(frame[["x"]])
        with folder() as here:
            files = [write(frame, here / f"a.{kind}", "") for kind in FORMATS]
            for path in files if more else files[1:]:
                saved = path.with_suffix(".dyn")
                rest = ["--formula", "s ~ x", "--out", saved, *WINDOW, *QUIET]
                call("fit", path, *rest, *more)
                model = dyntree.load(saved)
                assert model.classes == tree.classes
                assert model.log_evidence == tree.log_evidence
                assert model.predict(frame[["x"]]).proba.tolist() == (
                    answer.proba.tolist()
                )


STREAMS: dict[str, tuple[str, Callable[[list[str]], AveragedStream]]] = {
    "s ~ x": ("--classes=", lambda kinds: AveragedStream(
        "class", n_particles=8, seed=1, classes=kinds)),
    "y ~ x + s": ("--levels=s=", lambda kinds: AveragedStream(
        n_particles=8, seed=1, categories={"s": kinds})),
}  # fmt: skip


@pytest.mark.parametrize("formula", mostly_slow(STREAMS))
@settings(max_examples=10, deadline=None)
@given(kinds=KINDS, places=PLACES)
def test_streams(formula: str, kinds: list[str], places: list[int]) -> None:
    option, make = STREAMS[formula]
    if formula == "s ~ x":
        places = [place % len(kinds) for place in places]
    frame, missing = table(kinds, places), missing_word(kinds)
    response, inputs = formula[0], [name for name in "xs" if name != formula[0]]
    model = make(kinds)
    for row in frame.to_dict("records"):
        model.update({name: row[name] for name in inputs}, [row[response]])
    with folder() as here:
        for kind in FORMATS:
            path, saved = write(frame, here / f"a.{kind}", missing), here / f"{kind}.m"
            rest = ["--formula", formula, "--checkpoint", saved, "--out", here / "o"]
            call("stream", path, *rest, *QUIET, option + words(kinds))
            found = dyntree.load(saved)
            assert found.n_seen == N
            assert found.classes == model.classes
            assert found.log_evidence == model.log_evidence, kind
