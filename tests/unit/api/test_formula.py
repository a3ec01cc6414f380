"""Formulas: what they mean, what they make, what they refuse."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

import formulaic

import dyntree
import dyntree.formula.api as dtf
from dyntree import DynamicTree, LinearStream, RandomTreesStream, StreamingTree
from dyntree.api.formula import DynamicTreeModel
from dyntree.api.terms import parse
from dyntree.encoding.tables import table_of
from dyntree.errors import CheckpointError
from tests.helpers import model_bytes
from tests.unit.conftest import python

SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}


def sites(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Numbers, dates, text and a response, under labels of their own."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.random(n), "b": 0.1 + rng.random(n)})
    frame["site"] = rng.choice(["u", "v", "w"], n)
    frame["day"] = pd.date_range("2024-01-01", periods=n, freq="h")
    frame["y"] = np.sin(6 * frame["a"]) + (frame["site"] == "u") + np.log(frame["b"])
    frame["label"] = np.where(frame["y"] > 0, "high", "low")
    return frame.set_index(pd.Index([f"row {k}" for k in range(n)]))


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("y ~ .", ["a", "b", "c d"]), ("y ~ . - b", ["a", "c d"]),
        ("np.log(y) ~ .", ["a", "b", "c d"]), ("y ~ 0 + a", ["a"]),
        ("y ~ a + b - 1", ["a", "b"]), ("y ~ a*b", ["a", "b", "a:b"]),
        ("y ~ (a + b)**2 - a", ["b", "a:b"]), ("y ~ a:b", ["a:b"]),
        ("y ~ I(a**2) + np.log(a)", ["I(a ** 2)", "np.log(a)"]),
        ("y ~ `c d` + C(`c d`)", ["c d", "C(`c d`)"]), ("y ~ a + a", ["a"]),
        ("y ~ b + a:b + a", ["b", "a", "a:b"]),
    ],
)  # fmt: skip
def test_the_grammar_is_formulaics(formula: str, expected: list[str]) -> None:
    response, terms, _ = parse(formula, ["a", "b", "c d", "y"])
    assert response.columns == ("y",)
    assert [":".join(f.label for f in term) for term in terms] == expected


@pytest.mark.parametrize("formula", ["`c d` ~ a", "c d ~ a"])
def test_a_response_may_have_spaces(formula: str) -> None:
    assert parse(formula, ["a", "c d"])[0].columns == ("c d",)


def test_a_formula_is_never_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    formula = f"y ~ a + {{open('{trace}', 'w')}}"
    with pytest.raises(ValueError, match="formula must be made of"):
        dtf.dynamic_tree(formula, sites())
    assert not trace.exists()


def test_features_are_those_of_formulaic() -> None:
    frame = sites()
    right = "a + np.log(b) + I(a**2) + site + a:b + a:site + np.sqrt(b):np.exp(a)"
    model = dtf.dynamic_tree(f"y ~ {right}", frame, **SMALL)
    expected = formulaic.model_matrix(f"{right} - 1", frame, ensure_full_rank=False)
    names = [name.replace("[T.", "[") for name in expected.columns]
    assert sorted(model.exog_names) == sorted(names)
    found = pd.DataFrame(model.exog, columns=model.exog_names)
    for name, column in zip(names, expected.to_numpy().T, strict=True):
        # NumPy 1.26 rounds logs of strided columns, as formulaic takes them, otherwise
        assert found[name].tolist() == pytest.approx(column.tolist(), rel=1e-15)


def test_the_trees_are_those_of_the_classes() -> None:
    frame = sites()
    design = np.column_stack([frame["a"], np.log(frame["b"])])
    rows = pd.DataFrame(design, frame.index, ["a", "np.log(b)"])
    fit = dtf.dynamic_tree("y ~ a + np.log(b)", frame, n_clouds=1, **SMALL).fit()
    tree = DynamicTree("linear", **SMALL).update(rows, frame["y"])
    assert isinstance(fit.tree, DynamicTree)
    assert fit.llf == tree.log_evidence
    options: dict[str, Any] = {"window": 20, "drift": True, "discard": "random"}
    fit = dtf.dynamic_tree("y ~ a + np.log(b)", frame, **options, **SMALL).fit()
    stream = StreamingTree(**options, **SMALL).update(rows, frame["y"])
    assert isinstance(fit.tree, StreamingTree)
    assert fit.llf == stream.log_evidence
    assert fit.tree.options.forget == 0.95


@pytest.mark.parametrize(
    ("response", "classes"),
    [
        ("label", ("high", "low")), ("C(code)", (1, 2)), ("flag", (False, True)),
        ("kind", ("z", "x", "w")),
    ],
)  # fmt: skip
def test_labels_make_trees_classify(response: str, classes: tuple[Any, ...]) -> None:
    frame = sites().drop(columns="y")
    high = frame["label"] == "high"
    frame = frame.assign(flag=high, code=np.where(high, 2, 1))
    texts = high.map({True: "x", False: "z"})
    frame["kind"] = pd.Categorical(texts, categories=["z", "x", "w"])
    fit = dtf.dynamic_tree(f"{response} ~ a + b + site", frame, **SMALL).fit()
    assert fit.tree.classes == classes
    told = fit.predict(frame)
    assert set(told) <= set(classes)
    column = response.removeprefix("C(").removesuffix(")")
    assert (told == frame[column].astype(told.dtype)).mean() > 0.7
    one = {"a": 0.1, "b": 1.0, "site": "u"}
    assert fit.predict(one) == fit.predict([one])[0]


def test_numbers_are_labels_on_demand() -> None:
    frame = sites().assign(code=[1, 2] * 30)
    fit = dtf.dynamic_tree("code ~ a", frame, model="class", **SMALL).fit()
    assert fit.tree.classes == (1, 2)
    with pytest.raises(ValueError, match="'label' of text"):
        dtf.dynamic_tree("label ~ a", frame, model="linear")


# ---------------------------------------------------------------- missing
def test_missing_values() -> None:
    frame = sites()
    frame.loc["row 3", "a"] = np.nan
    frame.loc["row 5", "site"] = None
    kept = dtf.dynamic_tree("y ~ a + site", frame, **SMALL).fit()
    assert kept.nobs == 60
    assert np.isfinite(kept.predict(frame)).all()
    frame.loc["row 7", "y"] = np.nan
    dropped = dtf.dynamic_tree("y ~ a + site", frame, missing="drop", **SMALL).fit()
    assert dropped.nobs == 57
    gaps = r"no missing value of y; got one in row 7\. .*dropna\(subset=\.\.\.\)"
    with pytest.raises(ValueError, match=gaps):  # "drop" takes gaps in inputs, too
        dtf.dynamic_tree("y ~ a + site", frame)
    with pytest.raises(ValueError, match=r"rows out, as a model with missing='drop'"):
        dtf.dynamic_tree("y ~ a + site", frame.dropna(subset=["a", "site"]))
    with pytest.raises(ValueError, match=r"no missing value of the inputs; .* row 3"):
        dtf.dynamic_tree("y ~ a + site", frame, missing="raise")
    for name in ("a", "y", "site"):
        lacking = frame.assign(**{name: None})
        named = rf"at least one complete row; got none\. .* in \['{name}'\]\. Give"
        with pytest.raises(ValueError, match=named):
            dtf.dynamic_tree("y ~ a + site", lacking, missing="drop")
        with pytest.raises(ValueError, match=named):
            dropped.extend(lacking)


# ---------------------------------------------------------------- files
def saved(folder: Path, **options: Any) -> tuple[Any, Path]:
    path = folder / "m.dyn"
    formula = "np.exp(y) ~ a + np.log(b) + C(site) + day + a:site"
    fit = dtf.dynamic_tree(formula, sites(), **options, **SMALL).fit()
    fit.save(path)
    return fit, path


@pytest.mark.filterwarnings("ignore::dyntree.errors.FormulaFileWarning")
@pytest.mark.parametrize("options", [{}, {"window": 30, "missing": "drop"}])
def test_a_file_goes_on_bit_for_bit(tmp_path: Path, options: dict[str, Any]) -> None:
    fit, path = saved(tmp_path, **options)
    again = DynamicTreeModel.load(path)
    other = tmp_path / "again.dyn"
    again.save(other)
    assert other.read_bytes() == path.read_bytes()
    assert again.model.formula == fit.model.formula
    assert again.model.missing == fit.model.missing
    new = sites(40, seed=1)
    for results in (fit, again):
        results.append(new).append(new.iloc[3].to_dict())
    assert model_bytes(again.tree) == model_bytes(fit.tree)
    assert again.predict(new).equals(fit.predict(new))
    assert dyntree.load(path).n_seen == 60
    with pytest.raises(ValueError, match="exog must be given"):
        again.predict()
    with pytest.raises(ValueError, match="fit needs a model with data"):
        again.model.fit()


def test_loading_needs_no_formulaic(tmp_path: Path) -> None:
    fit, path = saved(tmp_path)
    code = (
        "import sys; sys.modules['formulaic'] = sys.modules['narwhals'] = None\n"
        "import json, dyntree.formula.api as dtf\n"
        f"fit = dtf.load({os.fspath(path)!r})\n"
        "row = {'a': .5, 'b': 1., 'site': 'u', 'day': None}\n"
        "print(json.dumps(fit.predict(row)))\n"
        "try:\n    dtf.dynamic_tree('y ~ a', {'y': [1.], 'a': [1.]})\n"
        "except ImportError as error:\n    print(error)\n"
    )
    process = python("-c", code)
    assert process.returncode == 0, process.stderr
    told, error = process.stdout.splitlines()
    row = {"a": 0.5, "b": 1.0, "site": "u", "day": None}
    assert json.loads(told) == fit.predict(row)
    assert error.endswith("pip install '.[formula]' in a clone of dyntree.")


def rewritten(path: Path, change: Any) -> Path:
    """The file with its header changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(header["notes"])
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda notes: notes.clear(),
        lambda notes: notes.update(missing="maybe"),
        lambda notes: notes.update(design=[]),
        lambda notes: notes["design"].update(terms=notes["design"]["terms"][1:]),
        lambda notes: notes["design"].update(is_class=True),
        lambda notes: notes["design"]["terms"][1][0]["steps"].append(
            ["call", "os.system"]
        ),
        lambda notes: notes["design"]["terms"][1][0].update(steps="np.log(b)"),
        lambda notes: notes["design"]["kinds"].update(a="code"),
    ],
)
def test_broken_and_hostile_files_are_refused(tmp_path: Path, change: Any) -> None:
    _, path = saved(tmp_path)
    DynamicTreeModel.load(rewritten(path, lambda notes: None))
    with pytest.raises(CheckpointError, match="cannot be loaded: it"):
        DynamicTreeModel.load(rewritten(path, change))


def test_a_table_is_taken_as_it_is() -> None:
    table = table_of(sites())
    assert table_of(table) is table


@pytest.mark.parametrize("name", ["y", "a"])
@pytest.mark.parametrize("kind", [complex, object])
def test_complex_numbers_are_refused_by_name(name: str, kind: type) -> None:
    frame = sites()
    fit = dtf.dynamic_tree("y ~ a", frame, **SMALL).fit()
    before = model_bytes(fit.tree)
    frame[name] = (frame[name] + 1j).astype(kind)
    with pytest.raises(ValueError, match=f"real numbers or levels in column '{name}'"):
        dtf.dynamic_tree("y ~ a", frame, **SMALL)
    with pytest.raises(ValueError, match=f"in column '{name}'"):
        fit.append(frame)
    assert model_bytes(fit.tree) == before


def test_levels_without_end_are_refused_unless_named() -> None:
    frame = pd.DataFrame({"y": np.arange(1001.0), "id": np.arange(1001).astype(str)})
    with pytest.raises(ValueError, match="column 'id' must have at most 1000 levels"):
        dtf.dynamic_tree("y ~ id", frame)
    named = {"id": frame["id"]}
    for encode, n_features in (("onehot", 1001), ("auto", 1)):
        model = dtf.dynamic_tree(
            "y ~ id", frame[:20], categories=named, encode_levels=encode
        )
        assert len(model.exog_names) == n_features


@pytest.mark.parametrize("encode", ["auto", "effect"])
def test_a_factor_of_an_interaction_has_a_feature_each_level(encode: str) -> None:
    """An effect beside them would be what they leave over, of either sign."""
    rng = np.random.default_rng(4)
    g, x = rng.integers(0, 36, 120), rng.random(120)
    frame = pd.DataFrame({"g": [f"g{k}" for k in g], "x": x, "y": g + x})
    late = frame.assign(g="later")[:1]

    def names(formula: str) -> list[str]:
        options = SMALL | {"model": "constant", "encode_levels": encode}
        return dtf.dynamic_tree(formula, frame, **options).fit().append(late).exog_names

    assert names("y ~ x + g") == ["x", "effect of g"]
    n_levels = len(set(g)) + 1
    assert len(names("y ~ x * g")) == 1 + 2 * n_levels
    assert not any("effect" in name for name in names("y ~ g + g:x"))


TRUTHS = ["y > 0", "y <= 0", "I(y > 0)", "(y > 0)", "I(-1 < y <= 1)", "y == 0",
          "y != 0", "np.log(b) > -0.5", "y > a"]  # fmt: skip


@pytest.mark.parametrize("way", [{}, {"n_clouds": 2}, {"window": 30}])
@pytest.mark.parametrize("text", TRUTHS)
def test_a_comparison_is_classified(text: str, way: Any, tmp_path: Path) -> None:
    """It is what a column of bools is, in every call; 0 and 1 are no measurements."""
    data = sites()
    inputs = "site + day" + ("" if "a" in text else " + a")
    plain = re.sub(r"\bI\(|^\(|\)$", "", text) if "np" not in text else text
    truth = eval(plain if "< y" not in plain else "(-1 < y) & (y <= 1)", {
        "np": np, **{name: data[name] for name in "aby"}
    })  # fmt: skip
    options = SMALL | way
    fit = dtf.dynamic_tree(f"{text} ~ {inputs}", data, **options).fit()
    other = data.assign(holds=truth)
    bools = dtf.dynamic_tree(
        f"holds ~ {inputs}", other, classes=(False, True), **options
    ).fit()
    assert fit.tree.classes == (False, True)
    assert fit.llf == bools.llf
    np.testing.assert_array_equal(fit.predict(data), bools.predict(other))
    row = data.iloc[3].to_dict()
    assert fit.append(row).llf == bools.append(other.iloc[3].to_dict()).llf
    fit.save(tmp_path / "fit")
    again = dtf.load(tmp_path / "fit").append(data)
    assert again.llf == bools.append(other).llf
    gaps = data.assign(y=data["y"].where(data.index != "row 7"), a=data["a"])
    if "y" in text:
        with pytest.raises(ValueError, match=r"no missing value of .* row 7"):
            fit.append(gaps)
        kept = dtf.dynamic_tree(f"{text} ~ site", gaps, missing="drop", **options)
        assert kept.nobs == len(data) - 1


def test_numbers_of_a_comparison_are_asked_for() -> None:
    data = sites()
    for formula, more in (
        ("y > 0 ~ a", {"model": "constant"}),
        ("np.where(y > 0, 1, 0) ~ a", {}),
        ("I((y > 0) * 1) ~ a", {}),
    ):
        fit = dtf.dynamic_tree(formula, data, **more, **SMALL).fit()
        assert fit.tree.classes is None
        assert 0.0 <= fit.predict({"a": 0.5}) <= 1.0
    for text in ("np.log(b)", "I(b * 2)"):
        with pytest.raises(ValueError, match="a column or a comparison as the resp"):
            dtf.dynamic_tree(f"{text} ~ a", data, model="class", **SMALL)


# ------------------------------------------------------------ the order of a table
def by_label(n: int = 300, seed: int = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table in random order, and other rows of the same law."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.random((2 * n, 4)), columns=[*"abcd"])
    p = 1.0 / (1.0 + np.exp(-12.0 * (data.a + data.b - 1.0)))
    data["label"] = np.where(rng.random(2 * n) < p, "u", "v")
    data["y"] = 3.0 * (data.a > 0.5) + data.b + 0.2 * rng.standard_normal(2 * n)
    return data[:n], data[n:]


ORDERS: dict[str, Any] = {
    "as it came": lambda data: data,
    "by label": lambda data: data.sort_values("label", kind="stable"),
    "by input": lambda data: data.sort_values("a"),
    "by response, backwards": lambda data: data.sort_values("y", ascending=False),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("response", ["label", "y"])
def test_clouds_of_a_formula_are_those_of_the_estimator(
    response: str, order: str
) -> None:
    """All but the first are shuffled, and powers are fitted, in whatever order."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from dyntree.api import estimators

    data = ORDERS[order](by_label()[0])
    fit = dtf.dynamic_tree(
        f"{response} ~ a + b + c + d", data, n_clouds=4, n_particles=20, seed=1
    ).fit()
    kind = "DynamicTreeClassifier" if response == "label" else "DynamicTreeRegressor"
    other = getattr(estimators, kind)(n_clouds=4, n_particles=20, random_state=1)
    model = other.fit(data[[*"abcd"]], data[response]).model_
    assert fit.tree.powers == model.powers
    assert fit.llf == model.log_evidence
    told, theirs = fit.get_prediction(data).distribution, model.predict(data[[*"abcd"]])
    names = ("proba",) if response == "label" else ("mean", "var")
    for name in names:
        np.testing.assert_array_equal(getattr(told, name), getattr(theirs, name))


def test_labels_do_not_depend_on_the_order_of_the_table() -> None:
    """Sorted and shuffled tables give the same density of new labels, up to chance.

    Over 40 tables the difference had the mean -.002 and the sd .012. The bound is five
    of them: a false-fail rate below 1e-6. Without shuffling the mean was .025.
    """
    data, new = by_label()
    y, density = new["label"].to_numpy(), {}
    for order in ("as it came", "by label"):
        fit = dtf.dynamic_tree(
            "label ~ a + b + c + d", ORDERS[order](data), n_clouds=10, n_particles=40,
            seed=1,
        ).fit()  # fmt: skip
        told = fit.get_prediction(new).distribution
        density[order] = told.log_density(y).mean()
    assert abs(density["as it came"] - density["by label"]) < 0.06


@pytest.mark.parametrize("options", [{"n_clouds": 3}, {"window": "auto"}, {}])
def test_a_summary_counts_clouds_and_forests(options: dict[str, Any]) -> None:
    data, _ = by_label(60)
    for response in ("label", "y"):
        made = dtf.dynamic_tree(f"{response} ~ a + b", data, **SMALL | options)
        fit = made.fit()
        text = " ".join(str(fit.summary()).split())
        members = getattr(fit.tree, "members", [])
        n_forests = sum(isinstance(one, RandomTreesStream) for one in members)
        n_linear = sum(isinstance(one, LinearStream) for one in members)
        n_clouds = len(members) - n_forests - n_linear
        assert (f"{n_clouds} clouds of 20" if members else "Particles: 20") in text
        assert ("Random Trees:" in text) == bool(n_forests)
        assert not n_forests or f"{n_forests} forest" in text
        assert (f"{n_linear} regressions" in text) == bool(n_linear)
        assert fit.tree.facts()["particles"] == 20 * max(n_clouds, 1)
    assert n_clouds == {"n_clouds": 3}.get(next(iter(options), ""), n_clouds)
