"""Files of every kind of model load, and answer as they did when they were written.

Rule: labels and counts exactly, numbers to 1e-12 of max(1, |value|), which leaves room
for other libraries of mathematics.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree.api.formula import DynamicTreeModel
from dyntree.checkpoint.models import KINDS, VERSION, dumps, kind_named, loads
from dyntree.errors import CheckpointError
from dyntree.storage import archive

from .checkpoints.stored import FOLDER, FORMULA, answer

# missing values are asked about
pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
ANSWERS = json.loads((FOLDER / "answers.json").read_text())
FILES = [pytest.param(FOLDER / f"{name}.dyn", id=name) for name in ANSWERS]


def loaded(path: Path) -> Any:
    return (DynamicTreeModel if path.stem == FORMULA else dyntree).load(path)


def test_every_kind_of_model_has_a_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.dyn")} == {*ANSWERS}
    assert kind_named("no such kind") is None  # which imports all
    ours = {n for n, kind in KINDS.items() if kind.__module__.startswith("dyntree.")}
    assert {name.partition("-")[0] for name in ANSWERS} - {FORMULA} == ours


@pytest.mark.parametrize("path", FILES)
def test_a_saved_model_answers_as_it_did(path: Path) -> None:
    got, expected = answer(path.stem, loaded(path)), ANSWERS[path.stem]
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("path", FILES)
def test_the_version_changes_with_the_layout(path: Path) -> None:
    """What is written is what was stored; if not, the format needs a new version."""
    if path.stem != FORMULA:  # which has notes of its own
        assert without_release(dumps(loaded(path))) == without_release(
            path.read_bytes()
        )


def without_release(content: bytes) -> tuple[Any, Any]:
    """Header and bytes of the arrays of a file, but for the release that wrote it."""
    header, arrays = archive.read(io.BytesIO(content))
    del header["release"]
    return header, {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("version", [0, VERSION + 1, "1", None, True, [1]])
def test_another_version_is_refused_by_its_name(version: Any) -> None:
    content = (FOLDER / "CoverTree.dyn").read_bytes()
    header, arrays = archive.read(io.BytesIO(content))
    file = io.BytesIO()
    archive.write(file, header | {"version": version}, arrays)
    with pytest.raises(CheckpointError) as caught:
        loads(file.getvalue())
    assert f"version {version!r} of the format" in str(caught.value)
