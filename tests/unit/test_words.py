"""What users wrote passes unchanged through every face that rewords an error."""

from __future__ import annotations

import ast
import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
import dyntree.formula.api as dtf
import rbridge
from dyntree import cli
from dyntree.commands.words import SHELL
from dyntree.errors import (
    ArgumentError,
    Message,
    Words,
    in_words,
    renamed,
    shown_as,
    without_row,
)
from rbridge.guest_mixtures import FACES as MIXTURES
from rbridge.guest_trees import FACES as TREES
from rbridge.words import MIRROR, RWords

# names of arguments somewhere, values of some language, phrases that a face rewords
WORDS = [
    "sample_weight", "weights", "lambda", "lambda_", "N", "n_particles", "None", "NaN",
    "nan", "inf", "True", "False", "NULL", "TRUE", "an int", "ints", "model", "window",
    "model=constant", "model=constant_or_not", "model='class'", "window=None",
    "exposure must", "exposure", "categories must", "classes must", "min_leaf must be",
    "min_leaf=3", "row 3", "in row 0", "X", "y", "XX", "a float", "a dict", "frame",
    "DataFrame", "pandas", "numpy", "options.weights", "prior.mean", "documents[3]",
    "documents must", "[1.0, 2.0]", "(2, 2)", "shape (2, 2)", "1.0", "np.True_",
    "--weights", "--model class", "class", "cls", "minp", "ab", "names", "got None",
    "{name}", "{got!r}", "missing='drop'", "by must", "Call update",
    "count matrix row 2", "GaussianUnknown", "sb", "discard",
]  # fmt: skip
FACES: dict[str, Words] = {
    "python": Words(),
    "shell": SHELL,
    "R's dynaTree": RWords(MIRROR),
    **{f"R's {name}": face.words_for("x") for name, face in (TREES | MIXTURES).items()},
}


def stream(**options: Any) -> dyntree.StreamingTree:
    return dyntree.StreamingTree(window=20, n_particles=5, seed=1, **options)


def of_column(word: str) -> None:
    stream().update(pd.DataFrame({word: [1.0, [2.0]]}), [1.0, 2.0])


def of_columns(word: str) -> None:
    model = stream().update({word: 1.0}, [1.0])
    model.update({"other": 1.0}, [1.0])


def of_level(word: str) -> None:
    options = {"categories": {"g": ["u"]}, "new_levels": "error"}
    stream(**options).update(pd.DataFrame({"g": ["u", word]}), [1.0, 2.0])


def of_class(word: str) -> None:
    model = stream(model="class", classes=["u", "v"])
    model.update([[1.0]] * 10, ["u", "v"] * 5).tree.class_place(word)


def of_formula(word: str) -> None:
    dtf.dynamic_tree(f"y ~ Q({word!r})", {"y": [1.0], "x": [1.0]})


def of_path(word: str) -> None:
    dyntree.load(word)


def of_key(word: str) -> None:
    delayed = dyntree.DelayedLabels(stream())
    delayed.predict_later(word, [1.0])
    delayed.predict_later(word, [1.0])


SOURCES: list[Callable[[str], None]] = [
    of_column, of_columns, of_level, of_class, of_formula, of_path, of_key,
]  # fmt: skip


def problem(source: Callable[[str], None], word: str, folder: Path) -> Exception:
    """What a face would have to say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path(folder / word.replace("/", "_")).write_bytes(b"none of ours")
        with pytest.raises(Exception) as caught:  # noqa: PT011 # the text is asked
            source(word)
    return caught.value


def holds(text: str, word: str) -> bool:
    """Whether a text has a word, in quotes of Python or of R, or bare."""
    ways = {word, repr(word), repr(word)[1:-1], repr(repr(word))[1:-1]}
    return any(way in text for way in ways)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_words_of_users_come_back(
    source: Callable[[str], None], tmp_path: Path
) -> None:
    for word in WORDS:
        error = problem(source, word, tmp_path)
        for name, words in FACES.items():
            said = in_words(error, words)
            assert holds(said, word), f"{name}: {word!r} became {said!r}"


def test_the_shell_leaves_words_of_users(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for k, word in enumerate(WORDS):
        table = tmp_path / f"{k}.ndjson"
        table.write_text(json.dumps({"a": 1.0, "z": 1.0}) + "\n")
        out = ["--formula", "z ~ .", "--out", str(tmp_path / "out.dyn")]
        assert cli.main(["fit", str(table), f"--weights={word}", *out])
        assert holds(capsys.readouterr().err, word), word


def test_river_leaves_words_of_users() -> None:
    pytest.importorskip("river", reason="river is not installed: dyntree[river]")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    for word in WORDS:
        model = RiverDynamicTreeRegressor(window=20, n_particles=5, seed=1)
        model.learn_one({word: 1.0}, 1.0)
        with pytest.raises(ValueError, match="must") as caught:
            model.learn_one({word: [2.0]}, 1.0, 2.0)
        assert holds(str(caught.value), word)


# ------------------------------------------------------------ one error, four faces
TABLE: list[tuple[Exception, str, str, str]] = [
    (
        ArgumentError("min_leaf", "must be an int >= {least}", 0, least=1),
        "min_leaf must be an int >= 1; got 0.",
        "--min-leaf must be a whole number >= 1; got 0.",
        "minp must be a whole number >= 1; got 0.",
    ),
    (
        ArgumentError("sample_weight", "must be finite and >= 0", -1.0, row=3),
        "sample_weight must be finite and >= 0; got -1.0 in row 3.",
        "--weights must be finite and >= 0; got -1.0 in row 3.",
        "weights must be finite and >= 0; got -1 in row \x014\x02.",
    ),
    (
        ArgumentError("quants", "must be True or False", None),
        "quants must be True or False; got None.",
        "quants must be True or False; got None.",
        "quants must be TRUE or FALSE; got NULL.",
    ),
    (
        ArgumentError(
            "dispersion",
            "is an option of model='negbin' only",
            Message("{d!r} with model={m!r}", d=0.5, m="poisson"),
        ),
        "dispersion is an option of model='negbin' only; got 0.5 with model='poisson'.",
        "--dispersion is an option of --model negbin only; got 0.5 with --model "
        "poisson.",
        'dispersion is an option of model = "negbin" only; got 0.5 with model = '
        '"poisson".',
    ),
    (
        ArgumentError("ab", "must be a pair", (np.nan, np.inf)),
        "ab must be a pair; got (nan, inf).",
        "ab must be a pair; got (nan, inf).",
        "ab must be a pair; got c(NA, Inf).",
    ),
    (
        ArgumentError("lhs['shape']", "must be >= 0", [-1.0, 2.0]),
        "lhs['shape'] must be >= 0; got [-1.0, 2.0].",
        "lhs['shape'] must be >= 0; got [-1.0, 2.0].",
        "lhs$shape must be >= 0; got c(-1, 2).",
    ),
    (
        ArgumentError("rect", "must have 3 rows", np.zeros((2, 2))),
        "rect must have 3 rows; got ndarray of shape (2, 2).",
        "rect must have 3 rows; got ndarray of shape (2, 2).",
        "rect must have 3 rows; got 2 rows and 2 columns.",
    ),
    (
        ArgumentError("cls", "must be in 1..{most}", np.float64(7.0), most=3),
        "cls must be in 1..3; got 7.0.",
        "cls must be in 1..3; got 7.0.",
        "class must be in 1..3; got 7.",
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[1])
def test_one_error_is_said_in_each_language(
    row: tuple[Exception, str, str, str],
) -> None:
    error, python, shell, r = row
    assert str(error) == in_words(error, Words()) == python
    assert in_words(error, SHELL) == shell
    assert in_words(error, FACES["R's dynaTree"]) == r


def test_errors_travel_between_processes() -> None:
    error = ArgumentError(
        "X", "must have {n} columns", np.zeros((3, 2)), "Give {n}.", row=2, n=4
    )
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.name, again.rule, again.row) == ("X", "must have {n} columns", 2)
    assert in_words(again, FACES["R's dynaTree"]) == in_words(
        error, FACES["R's dynaTree"]
    )
    assert str(error.named("Z")) == str(error).replace("X", "Z")


def test_other_names_leave_fields() -> None:
    word = "sample_weight"
    with pytest.raises(ArgumentError) as caught, renamed({word: "w"}):
        raise ArgumentError(
            word, "must be > 0", word, "Give sample_weight, as in {c!r}.", c=word
        )
    assert str(caught.value) == f"w must be > 0; got {word!r}. Give w, as in {word!r}."
    assert caught.value.name == "w"
    with pytest.raises(ValueError, match="plain"), renamed({word: "w"}):
        raise ValueError("plain")
    with pytest.raises(ArgumentError, match="got 'whole'"), shown_as({"a": "whole"}):
        raise ArgumentError("formula", "must be one", "a")


def test_the_number_of_a_row_can_go() -> None:
    error = ArgumentError("y", "must be finite", "in row 0", row=0)
    assert without_row(error, 0) == "y must be finite; got 'in row 0'."
    assert without_row(error, 1) == str(error)
    assert without_row(ValueError("in row 0"), 0) == "in row 0"


def test_messages_store_no_tables() -> None:
    table = np.zeros((1000, 2))
    message = Message("{a!r} {b} {c}", a=table, b=[1, "x"], c=Message("{d!r}", d=None))
    assert message == "ndarray of shape (1000, 2) [1, 'x'] None"
    assert not any(value is table for value in message.fields.values())


def test_warnings_are_said_in_each_language() -> None:
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        model = stream(new_levels="missing").update(
            pd.DataFrame({"g": ["u", "v"] * 5}), np.arange(10.0)
        )
        model.predict(pd.DataFrame({"g": ["model=constant"]}))
    said = [in_words(note.message, SHELL) for note in notes]
    assert any("--levels g=A,B,..." in text for text in said), said


@pytest.mark.parametrize(
    ("levels", "r", "shell"),
    [
        (
            ["2024-01-01", "2024-01-02", "2024-01-03"],
            'column "g" holds dates or times as text, such as "2024-01-01", so that '
            "each is a level of its own. Convert the column to dates (as.Date, "
            "as.POSIXct), or, if they are levels, name them: categories = list(g = "
            "c(...)) or a factor.",
            "Say --times g, or, if they are levels, name them: --levels g=A,B,....",
        ),
        (
            ["1.5", "2.5", "3.5", "?"],
            'column "g" holds numbers as text, such as "1.5", but also "?", so that '
            "each is a level of its own. Convert the column to numbers, with NA where "
            "there is none, or, if they are levels, name them: categories = list(g = "
            "c(...)) or a factor.",
            "If '?' means missing, say --missing '?' in CSV, or write null in NDJSON, "
            "or, if they are levels, name them: --levels g=A,B,....",
        ),
    ],
)
def test_text_that_is_no_level_is_named_in_each_language(
    levels: list[str], r: str, shell: str
) -> None:
    with pytest.warns(UserWarning, match="as text") as notes:
        stream().update(pd.DataFrame({"g": levels * 5}), np.arange(5.0 * len(levels)))
    assert in_words(notes[0].message, FACES["R's dynaTree"]) == r
    assert in_words(notes[0].message, SHELL).endswith(shell)


# ------------------------------------------------------------ templates of the sources
SAID = {"ArgumentError", "Message", "warn", "UnusableValueError"}


def template_of(node: ast.expr | None) -> str | None:
    """The text of a constant or of an f-string, whose own fields are numbers."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (v.value if isinstance(v, ast.Constant) else "1" for v in node.values)
        return "".join(map(str, parts))
    return None


def said() -> Iterator[tuple[str, str, set[str]]]:
    """Place, template and fields of every error and warning."""
    for package in (dyntree, rbridge):
        root = Path(package.__file__).parent
        for path in sorted(root.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                if not called or node.func.id not in SAID:
                    continue
                given = {keyword.arg for keyword in node.keywords}
                if None in given:
                    continue
                first = 0 if node.func.id == "Message" else 1
                last = (
                    4 if node.func.id in ("ArgumentError", "UnusableValueError") else 2
                )
                texts = [a for k, a in enumerate(node.args[first:last]) if k != 1]
                texts += [k.value for k in node.keywords if k.arg == "remedy"]
                for text in map(template_of, texts):
                    if text is not None:
                        yield f"{path.name}:{node.lineno}", text, given  # type: ignore[misc]


def test_templates_have_their_fields() -> None:
    n_templates = 0
    for place, template, given in said():
        fields = {name for _, name, _, _ in Formatter().parse(template) if name}
        assert fields <= given, (place, template)
        n_templates += 1
    assert n_templates > 500
