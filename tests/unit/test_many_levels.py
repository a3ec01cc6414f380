"""One warning names a column of text most of whose values are new, in every face."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    KeyedStream,
    StreamingTree,
)
from dyntree.encoding.levels import MOST_NEW, LevelCounts
from dyntree.errors import (
    DatesAsTextWarning,
    ManyLevelsWarning,
    NumbersAsTextWarning,
    UnseenLevelWarning,
)
from dyntree.evaluate import prequential
from dyntree.evaluate.repeats import fit_repeats
from tests.unit.commands.conftest import run
from tests.unit.commands.test_rows import COMMANDS

N = 3 * MOST_NEW // 2
RNG = np.random.default_rng(6)
SMALL: dict[str, Any] = {"n_particles": 5, "seed": 1}
IDS = [f"request-{k}" for k in range(N)]
Y = RNG.random(N)
Feed = Callable[[pd.DataFrame, Any], Any]


def table(column: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": RNG.random(len(column)), "id": column})


def at_once(make: Callable[[], Any]) -> Feed:
    return lambda X, y: make().update(X, y)


def in_parts(make: Callable[[], Any], size: int) -> Feed:
    def feed(X: pd.DataFrame, y: Any) -> Any:
        model = make()
        for first in range(0, len(X), size):
            part = slice(first, first + size)
            model.update(X[part], y[part])
        return model

    return feed


def estimator(X: pd.DataFrame, y: Any) -> Any:
    pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")
    from dyntree.api.estimators import DynamicTreeRegressor

    return DynamicTreeRegressor(n_clouds=2, n_particles=5, random_state=1).fit(X, y)


def river(X: pd.DataFrame, y: Any) -> Any:
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    model = RiverDynamicTreeRegressor("constant", window=20, **SMALL)
    for row, response in zip(X.to_dict("records"), y, strict=True):
        model.learn_one(row, response)
    return model


def formula(X: pd.DataFrame, y: Any) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    return dtf.dynamic_tree(
        "y ~ a + id", X.assign(y=y), model="constant", **SMALL
    ).fit()


def appended(X: pd.DataFrame, y: Any) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = X.assign(y=y)
    fit = dtf.dynamic_tree(
        "y ~ a + id", data[:20], window=15, model="constant", **SMALL
    ).fit()
    for k in range(20, len(data)):
        fit.append(data[k : k + 1] if k % 2 else data.iloc[k].to_dict())
    return fit


FACES: dict[str, Feed] = {
    "tree": at_once(lambda: DynamicTree("constant", **SMALL)),
    "tree in parts": in_parts(lambda: DynamicTree("constant", **SMALL), 40),
    "stream": in_parts(lambda: StreamingTree("constant", window=20, **SMALL), 1),
    "classes": lambda X, y: in_parts(
        lambda: StreamingTree("class", window=20, **SMALL), 7
    )(X, np.where(y > 0.5, "u", "v")),
    "average of streams": at_once(lambda: AveragedStream("constant", **SMALL)),
    "average of streams in parts": in_parts(
        lambda: AveragedStream("constant", **SMALL), 30
    ),
    "average of trees": at_once(lambda: AveragedTrees("constant", n_clouds=3, **SMALL)),
    "average of trees in parts": in_parts(
        lambda: AveragedTrees("constant", n_clouds=3, **SMALL), 30
    ),
    "average in one order": at_once(
        lambda: AveragedTrees("constant", n_clouds=3, shuffle=False, **SMALL)
    ),
    "average of trees class": lambda X, y: AveragedTrees(
        "class", n_clouds=3, **SMALL
    ).update(X, np.where(y > 0.5, "u", "v")),
    "prequential": lambda X, y: prequential(DynamicTree("constant", **SMALL), X, y),
    "repeats": lambda X, y: fit_repeats(DynamicTree("constant", **SMALL), X, y, 3),
    "repeats in one order": lambda X, y: fit_repeats(
        AveragedStream("constant", **SMALL), X, y, 2, shuffle=False
    ),
    "regressor": estimator,
    "river": river,
    "formula": formula,
    "append": appended,
    "keys": lambda X, y: KeyedStream(seed=1).update(X, y, key=["u"] * len(X)),
    "keys in parts": lambda X, y: in_parts(
        lambda: KeyedStream(seed=1, key="k"), 30
    )(X.assign(k="u"), y),
}  # fmt: skip


@pytest.mark.parametrize("name", FACES)
def test_identifiers_are_told_once(name: str) -> None:
    with pytest.warns(ManyLevelsWarning) as warned:
        FACES[name](table(IDS), Y)
    messages = [str(one.message) for one in warned]
    assert all("column 'id'" in message for message in messages)
    assert sum("most of its values are new" in message for message in messages) == 1


HALVES = [str(k / 2) for k in range(1, 9)]
AS_TEXT: dict[str, tuple[list[str], type[Warning], str]] = {
    "halves": (HALVES, NumbersAsTextWarning, "numbers"),
    "halves and a word": ([*HALVES, "unknown"], NumbersAsTextWarning, "numbers"),
    "halves and nothing": (["", *HALVES], NumbersAsTextWarning, "numbers"),
    "ages": ([*map(str, range(20, 90))], NumbersAsTextWarning, "numbers"),
    "ages and a mark": (["?", *map(str, range(20, 90))], NumbersAsTextWarning, "numb"),
    "numbers of requests": ([*map(str, range(950, 950 + N))], NumbersAsTextWarning,
                            "numbers"),
    "days": ([f"2024-01-{k:02}" for k in range(1, 13)], DatesAsTextWarning, "dates"),
    "hours": ([f"2024-01-01 {k:02}:00" for k in range(5)], DatesAsTextWarning, "dates"),
    "months": ([f"2024-{k:02}" for k in range(1, 13)], DatesAsTextWarning, "dates"),
    "American": ([f"01/{k:02}/2024" for k in range(1, 32)], DatesAsTextWarning, "da"),
    "times": ([f"{k // 2}:{k % 2 * 30:02}" for k in range(48)], DatesAsTextWarning,
              "times of day"),
    "many days": ([f"{d:%Y-%m-%d}" for d in pd.date_range("2020-01-01", periods=N)],
                  DatesAsTextWarning, "dates"),
    "days and a word": (
        ["none", *(f"2024-01-{k:02}" for k in range(1, 13))], DatesAsTextWarning, "da"
    ),
}  # fmt: skip


COMMON = "halves and a word", "ages", "days", "many days"  # for all faces
OTHERS = "tree", "stream", "average of trees", "river", "formula"  # for all kinds


WAYS = {  # in which levels are named, where it is not by an argument
    "regressor": "pass a categorical column of a frame", "river": "Convert the column",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [(f, k) for f in FACES for k in AS_TEXT if f in OTHERS or k in COMMON],
)
def test_numbers_and_dates_as_text_are_said_once(name: str, kind: str) -> None:
    """One warning names the column, and no other says that it has many levels."""
    levels, category, noun = AS_TEXT[kind]
    texts = [levels[k % len(levels)] for k in RNG.permutation(N)]
    with pytest.warns(category) as warned:
        FACES[name](table(texts), Y)
    said = [str(one.message) for one in warned if "column 'id'" in str(one.message)]
    assert len(said) == 1, said
    assert f"column 'id' holds {noun}" in said[0]
    assert WAYS.get(name, "categories={'id': [...]}") in said[0]


@pytest.mark.parametrize("kind", ["ages and a mark", "halves and a word"])
def test_what_is_no_number_is_named(kind: str) -> None:
    levels, category, _ = AS_TEXT[kind]
    other = {*levels} & {"?", "unknown"}
    with pytest.warns(category, match="such as .* but also") as warned:
        FACES["tree"](table([*levels, *levels]), RNG.random(2 * len(levels)))
    assert repr(*other) in str(warned[0].message)


UNSEEN: dict[str, str] = {
    "days": "2025-06-01", "American": "06/01/2025", "halves": "9.5", "ages": "101",
}  # fmt: skip


def by_formula(data: pd.DataFrame, options: dict[str, Any]) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    return dtf.dynamic_tree("y ~ a + id", data, model="constant", **options).fit()


def by_frame(data: pd.DataFrame, options: dict[str, Any]) -> Any:
    return DynamicTree("constant", **options).update(data[["a", "id"]], data["y"])


@pytest.mark.parametrize("new_levels", ["grow", "missing", "error"])
@pytest.mark.parametrize("kind", UNSEEN)
@pytest.mark.parametrize("is_formula", [False, True])
def test_what_is_no_level_is_to_be_converted(
    kind: str, new_levels: str, is_formula: bool
) -> None:
    levels, category, _ = AS_TEXT[kind]
    data = table([*levels, *levels]).assign(y=RNG.random(2 * len(levels)))
    options: dict[str, Any] = {"new_levels": new_levels, **SMALL}
    fit = by_formula if is_formula else by_frame
    with pytest.warns(category):
        model = fit(data, options)
    asked = pd.DataFrame({"a": [0.5], "id": [UNSEEN[kind]]})
    noun = "dates" if category is DatesAsTextWarning else "numbers"
    advice = f"as text: convert it to {noun}"
    if new_levels == "error":
        with pytest.raises(ValueError, match=advice) as caught:
            model.predict(asked)
        said = str(caught.value)
    else:
        with pytest.warns(UnseenLevelWarning, match=advice) as warned:
            model.predict(asked)
        said = str(warned[0].message)
    assert "name all levels" not in said


def test_levels_that_are_meant_are_to_be_named() -> None:
    """Also where they read as dates: the type of the column says that it has levels."""
    days = AS_TEXT["days"][0]
    data = table(pd.Categorical(days * 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DynamicTree("constant", **SMALL).update(data, Y[: len(data)])
        more = table(pd.Categorical(["2024-02-01", *days[1:]] * 2))
        model.update(more, Y[: len(more)])
    asked = pd.DataFrame({"a": [0.5], "id": pd.Categorical(["2025-06-01"])})
    with pytest.warns(UnseenLevelWarning, match="or name all levels at the start"):
        model.predict(asked)


@pytest.mark.parametrize("name", ["tree", "average of trees"])
def test_levels_of_categories_are_not_counted(name: str) -> None:
    """Their type names them, whatever the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "column 'id' has more than 32 levels")
        FACES[name](table(pd.Categorical(IDS)), Y)


@pytest.mark.parametrize(
    "levels",
    [
        ["007", "12", "35"],  # codes
        ["low", "0.5", "1.5"],
        ["nan.", "inf", "1.5"],
        pd.Categorical(["0.5", "1.5", "2.5"]),
        pd.Categorical(["2024-01-01", "2024-01-02", "2024-01-03"]),
        [f"{k:03}" for k in range(80, 130)],
        ["16:9", "4:3", "21:9"],
        ["2024-01-01", "2024-01-02"],
        ["1", "2", "2024-01-02", "2024-01-03"],
    ],
    ids=[
        "codes",
        "text first",
        "inf",
        "categories",
        "days of a type",
        "many codes",
        "ratios",
        "two days",
        "mixed",
    ],
)
@pytest.mark.parametrize("name", ["tree", "stream", "river", "average of trees"])
def test_levels_that_are_no_numbers_as_text(name: str, levels: Any) -> None:
    if name == "river" and isinstance(levels, pd.Categorical):
        return  # a dict has no types of columns
    n = max(30, len(levels))
    column = levels.take(np.arange(30) % 3) if hasattr(levels, "take") else levels * 15
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "column 'id' has more than 32 levels")
        FACES[name](table(column[:n]), Y[:n])


@pytest.mark.parametrize(
    "levels", [["0.5", "1.5", "2.5"], ["2024-01", "2024-02", "2024-03"]]
)
def test_numbers_or_dates_as_text_that_are_meant_as_levels(levels: list[str]) -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = table(levels * 10).assign(y=Y[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dtf.dynamic_tree("y ~ a + C(id)", data, **SMALL).fit()
        named = {"id": levels}
        DynamicTree(categories=named, **SMALL).update(data[["a", "id"]], data["y"])


@pytest.mark.parametrize("name", ["tree in parts", "stream", "river", "append"])
def test_numbers_as_text_after_numbers_are_to_be_converted(name: str) -> None:
    """Another column, or levels, would not be what the caller means."""
    column = [*range(N - 1), "0.5"]
    with pytest.raises(ValueError, match=r"number as text: convert such a column"):
        FACES[name](table(column), Y)


@pytest.mark.parametrize("text", ["False", "true"])
def test_truth_values_as_text_after_truth_values_are_to_be_converted(text: str) -> None:
    model = DynamicTree(**SMALL).update(table(np.median(Y) < Y), Y)
    with pytest.raises(ValueError, match=r"truth value as text: convert it to one"):
        model.predict(table([text]))


@pytest.mark.parametrize("name", ["tree in parts", "stream", "river", "append"])
def test_times_as_text_after_times_are_to_be_converted(name: str) -> None:
    column = [*pd.date_range("2026-01-01", periods=N - 1), "2026-12-01"]
    data = table(pd.Series(column, dtype=object))
    with pytest.raises(ValueError, match=r"text: convert such a column to dates"):
        FACES[name](data, Y)


@pytest.mark.parametrize("texts", [["08:00", "12:00", "18:00"], ["1", "2", "10"]])
@pytest.mark.parametrize("name", ["tree", "stream", "river", "formula", "append"])
def test_few_hours_and_codes_are_levels(name: str, texts: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FACES[name](table([texts[k % 3] for k in range(N)]), Y)


HONEST: dict[str, Any] = {
    "250 levels": lambda n: RNG.integers(0, 250, n),
    "40 levels": lambda n: RNG.integers(0, 40, n),
    "postcodes": lambda n: RNG.integers(75000, 75040, n),
    "a long tail": lambda n: (RNG.pareto(0.5, n)).astype(int),
}


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("name", ["tree", "stream", "river", "formula", "append"])
def test_many_honest_levels_are_not_told(name: str, kind: str) -> None:
    """With 250 equal levels the lead is 77 on average and has a deviation of 9."""
    begin = "" if kind == "postcodes" else "level-"
    column = [f"{begin}{k}" for k in HONEST[kind](N)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "column 'id' has more than 32 levels")
        FACES[name](table(column), Y)


def test_the_lead_of_new_values_decides() -> None:
    counts = LevelCounts()
    counts.count("id", MOST_NEW, MOST_NEW)
    with pytest.warns(ManyLevelsWarning, match="column 'id'"):
        counts.count("id", 1, 1)
    counts.count("id", 500, 500)
    counts.count("site", 1000, 550)
    with pytest.warns(ManyLevelsWarning, match="column 'site'"):
        counts.copy().count("site", 1, 1)


def test_levels_that_are_named_are_not_counted() -> None:
    X = table(IDS)
    DynamicTree("constant", categories={"id": IDS}, **SMALL).update(X, Y)
    tree = DynamicTree("constant", encode_levels="onehot", **SMALL)
    again = pickle.loads(pickle.dumps(tree.update(X[:50], Y[:50])))
    again.update(X[:50], Y[:50])
    assert again.n_seen == 100


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_tells_it_once(command: str, tmp_path: Any, capsys: Any) -> None:
    table(IDS).assign(y=Y).to_csv(tmp_path / "a.csv", index=False)
    rest = ["--formula", "y ~ .", "--particles", "5", "--quiet", "--window", "20"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run(command, tmp_path / "a.csv", *rest, "--out", tmp_path / "o") == 0
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if "identifiers" in line]
    assert len(told) == 1
    assert "column 'id'" in told[0]
    assert "--levels id=A,B,..." in told[0]


@pytest.mark.parametrize("formula", ["y ~ .", "y ~ a + id"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_says_how_dates_are_read(
    command: str, formula: str, tmp_path: Any, capsys: Any
) -> None:
    """Nothing is said any more once its advice is taken."""
    data = table([f"01/{k % 25 + 1:02}/2024" for k in range(N)])
    data.assign(y=Y).to_csv(tmp_path / "a.csv", index=False)
    rest = ["--formula", formula, "--particles", "5", "--quiet", "--window", "20"]
    rest += ["--model", "constant"]
    options = [tmp_path / "a.csv", *rest, "--out", tmp_path / "o"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run(command, *options) == 0
        lines = capsys.readouterr().err.splitlines()  # a stream predicts each level
        (line,) = [line for line in lines if "no row learned has had" not in line]
        assert "column 'id' holds dates or times as text, such as '01/" in line
        assert "--levels id=A,B,..." in line
        (times,) = re.findall("Say --times (.*?),", line)
        (tmp_path / "o").unlink()
        assert run(command, *options, "--times", times) == 0
    assert not capsys.readouterr().err


def test_the_shell_says_what_to_do_with_a_mark(tmp_path: Any, capsys: Any) -> None:
    data = table(["?", *map(str, range(20, 90))]).assign(y=RNG.random(71))
    data.to_csv(tmp_path / "a.csv", index=False)
    options = [tmp_path / "a.csv", "--formula", "y ~ .", "--particles", "5", "--quiet"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run("fit", *options, "--out", tmp_path / "o") == 0
        (line,) = capsys.readouterr().err.splitlines()
        assert "column 'id' holds numbers as text, such as '" in line
        assert "If '?' means missing, say --missing '?'" in line
        assert run("fit", *options, "--out", tmp_path / "o", "--missing", "?") == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("formula", ["y ~ .", "y ~ a * id"])
@pytest.mark.parametrize("kind", ["days", "a word"])
def test_the_shell_predicts_and_advises_what_there_is(
    kind: str, formula: str, tmp_path: Any, capsys: Any
) -> None:
    """`dyntree predict` has no ``--levels``: they are named when the model is made."""
    if "*" in formula:
        pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    levels = AS_TEXT["days"][0] if kind == "days" else ["u", "v", "w"]
    data = table(levels * 10).assign(y=RNG.random(10 * len(levels)))
    data.to_csv(tmp_path / "a.csv", index=False)
    data[:1].assign(id="2025-06-01").to_csv(tmp_path / "b.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        options = ["--formula", formula, "--particles", "5", "--quiet"]
        assert run("fit", tmp_path / "a.csv", *options, "--out", tmp_path / "o") == 0
        capsys.readouterr()
        asked = [tmp_path / "b.csv", "--out", tmp_path / "p.csv"]
        assert run("predict", tmp_path / "o", *asked) == 0
    lines = capsys.readouterr().err.splitlines()
    (line,) = [line for line in lines if "count as missing" in line or "counts" in line]
    if kind == "days":
        assert line.endswith("holds dates or times as text: fit again with --times id.")
    else:
        assert "at the start: dyntree fit --levels id=A,B,..." in line
    assert "--levels" not in line.replace("dyntree fit --levels", "")
