"""Positions in files: what JSON holds comes back equal, all else is refused by rule."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dyntree
import dyntree.formula.api as dtf
from dyntree import DelayedLabels, DynamicTree, StreamingTree, checkpoint
from dyntree.cli import main
from dyntree.errors import CheckpointError
from dyntree.mixtures import CoverTree
from dyntree.storage import archive
from dyntree.storage.positions import MAX_BYTES, MAX_DEPTH, position_text, read_position
from tests.helpers import changed_file
from tests.unit.models import grown

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
LEAVES = st.none() | st.booleans() | st.integers() | TEXT
LEAVES |= st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(LEAVES, lambda part: st.lists(part) | st.dictionaries(TEXT, part))


def types_of(value: Any) -> Any:
    """A value with the type of each part in its place."""
    if isinstance(value, dict):
        return {key: types_of(part) for key, part in value.items()}
    if isinstance(value, list):
        return [types_of(part) for part in value]
    return type(value), str(value)


@given(JSON)
def test_what_json_holds_comes_back_equal(position: Any) -> None:
    again = read_position(position_text(position))
    assert again == position
    assert types_of(again) == types_of(position)


@pytest.mark.parametrize(
    "position",
    [
        False, 0, "", [], {}, -0.0, 5e-324, 2**70, -(10**600) + 1, "\0\x7f\u2028é😀",
        {"float": "nan"}, {"float": "x"}, {"classes": ["a"]}, {"notes": {"model": 1}},
        "1526919030474-55", {"clicks/0": 17, "clicks/1": 2**63},
    ],
    ids=repr,
)  # fmt: skip
def test_a_position_may_look_like_something_else(position: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.dyn"
    dyntree.save(grown("class"), path, position=position)
    found = dyntree.load(path, with_position=True)[1]
    assert found == position
    assert types_of(found) == types_of(position)


def nested(depth: int, kind: type = list) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
    return value


def cycle() -> Any:
    value: list[Any] = [1]
    value.append({"again": value})
    return value


def doubled() -> Any:
    """A list in itself 2 ** 60 times, of 60 levels."""
    value: Any = [1]
    for _ in range(60):
        value = [value, value]
    return value


class Number(IntEnum):
    ONE = 1


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "NaN": (lambda: np.nan, "hold finite numbers.*got nan"),
    "infinite": (lambda: [{"a": -np.inf}], "hold finite numbers.*got -inf"),
    "object": (lambda: [object()], "got a value of type object"),
    "bytes": (lambda: b"17-0", r"of type bytes.*bytes by decode\(\)"),
    "tuple": (lambda: {"a": (1, 2)}, "of type tuple"),
    "set": (lambda: {1}, "of type set"),
    "numpy": (lambda: np.int64(3), r"of type int64.*by item\(\)"),
    "float of numpy": (lambda: np.float64(3.0), "of type float64"),
    "array": (lambda: np.arange(3), "of type ndarray"),
    "enum": (lambda: Number.ONE, "of type Number"),
    "key": (lambda: [{1: "a"}], "keys of text.*the key 1"),
    "key None": (lambda: {None: "a"}, "keys of text.*the key None"),
    "half a character": (lambda: "\ud83d", "text that UTF-8 can"),
    "half as a key": (lambda: {"\ude00": 1}, "text that UTF-8 can"),
    "cycle": (cycle, "nested at most 64 deep.*hold themselves"),
    "deep": (lambda: nested(MAX_DEPTH + 1), "nested at most 64 deep"),
    "very deep": (lambda: nested(100_000, dict), "nested at most 64 deep"),
    "doubled": (doubled, f"at most {MAX_BYTES} bytes"),
    "long text": (lambda: "a" * (MAX_BYTES - 1), f"at most {MAX_BYTES} bytes"),
    "long list": (lambda: [0] * MAX_BYTES, f"at most {MAX_BYTES} bytes"),
    "long number": (lambda: -(10**600), "at most 600 digits"),
    "longer number": (lambda: 10**5000, "at most 600 digits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_position_is_refused_and_the_file_kept(name: str, tmp_path: Path) -> None:
    make, words = REFUSED[name]
    path = tmp_path / "m.dyn"
    dyntree.save(grown("constant"), path, position=[1])
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"position must .*{words}"):
        dyntree.save(grown("class"), path, position=make())
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["m.dyn"]


def test_what_is_just_short_enough_is_kept() -> None:
    assert read_position(position_text(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    assert len(read_position(position_text("a" * (MAX_BYTES - 2)))) == MAX_BYTES - 2


@pytest.mark.parametrize(
    "stored",
    [
        7, None, [1], "", "x", "NaN", "[1, 2]", "[" * 100_000, "1e999", "9" * 5000,
        json.dumps(nested(MAX_DEPTH + 1)), '{"a":1,"a":1}', '"\\ud83d"',
    ],
    ids=lambda one: repr(one)[:20],
)  # fmt: skip
def test_a_file_with_a_broken_position_is_refused(stored: Any) -> None:
    tree = DynamicTree(n_particles=5, seed=1)
    data = changed_file(tree, lambda header, _: header.update(position=stored))
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        checkpoint.loads(data)


# ---------------------------------------------------------------- every kind of file
def late() -> DelayedLabels:
    held = DelayedLabels(StreamingTree(window=20, n_particles=5, seed=1))
    held.predict_later("a", [1.0])
    return held


def neighbours() -> CoverTree:
    return CoverTree([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("make", [late, neighbours])
def test_what_is_no_online_model_has_a_position(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    dyntree.save(make(), tmp_path / "m.dyn", position="17-0")
    model, position = dyntree.load(tmp_path / "m.dyn", with_position=True)
    assert position == "17-0"
    assert checkpoint.dumps(model) == checkpoint.dumps(make())


@pytest.mark.parametrize("remove_data", [False, True])
def test_results_of_a_formula_have_a_position(
    remove_data: bool, tmp_path: Path
) -> None:
    path = tmp_path / "m.dyn"
    data = {"x": np.arange(40.0), "y": np.arange(40.0) % 7}
    fit = dtf.dynamic_tree("y ~ x", data, n_particles=10, seed=1).fit()
    fit.save(path, remove_data, position=[40])
    again, position = dtf.load(path, with_position=True)
    assert position == [40]
    assert again.predict({"x": 3.0}) == fit.predict({"x": 3.0})
    assert type(dtf.load(path)) is type(fit)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="position must hold finite"):
        fit.save(path, position=np.nan)
    assert path.read_bytes() == before
    fit.save(path)
    assert dtf.load(path, with_position=True)[1] is None


@pytest.mark.parametrize("load", [dyntree.load, dtf.load])
def test_with_position_is_a_flag(load: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="with_position must be True or False; got 1"):
        load(tmp_path / "none.dyn", with_position=1)


def test_info_shows_the_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.dyn"
    for position in ({"clicks": 17}, None):
        dyntree.save(grown("constant"), path, position=position)
        assert main(["info", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out).get("position") == position
        assert main(["info", str(path)]) == 0
        said = capsys.readouterr().out
        assert ("position          {'clicks': 17}" in said) is (position is not None)


# ---------------------------------------------------------------- columns called float
def test_a_column_called_float_comes_back(tmp_path: Path) -> None:
    """An object {"float": ...} in a header is an odd number only if it says which."""
    rows = "".join(f"{k % 3},{k}\n" for k in range(30))
    (tmp_path / "rows.csv").write_text("float,y\n" + rows)
    call = [
        "stream", str(tmp_path / "rows.csv"), "--formula", "y ~ float", "--levels",
        "float=0,1,2", "--particles", "5", "--seed", "1", "--quiet", "--resume",
        "--out", str(tmp_path / "out.csv"), "--checkpoint", str(tmp_path / "m.dyn"),
    ]  # fmt: skip
    assert main(call) == 0
    before = (tmp_path / "out.csv").read_bytes()
    assert main(call) == 0
    assert (tmp_path / "out.csv").read_bytes() == before


@pytest.mark.parametrize("value", ["x", "NaN", ["a"], 3, None, {"float": "inf"}])
def test_objects_called_float_are_objects(value: Any) -> None:
    file = io.BytesIO()
    archive.write(file, {"levels": {"float": value}, "x": np.inf}, {})
    header, _ = archive.read(file)
    if value == {"float": "inf"}:
        value = np.inf
    assert header == {"levels": {"float": value}, "x": np.inf}
