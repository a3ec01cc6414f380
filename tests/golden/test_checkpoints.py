"""Files of the present version of the format load, and answer as they did.

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
from dyntree import checkpoint
from dyntree.api.formula import DynamicTreeModel
from dyntree.errors import CheckpointError
from dyntree.storage import archive
from tests.unit.models import data

from .checkpoints.answers import answer

# days without a date are asked about
pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
FOLDER = Path(__file__).parent / "checkpoints"
FILES = sorted(FOLDER.glob("v*/*.dyn"))


def known(path: Path) -> dict[str, Any]:
    """What the model in a file answered when it was saved."""
    told = json.loads((path.parent / "answers.json").read_text())["answers"]
    found: dict[str, Any] = told[path.stem]
    return found


def loaded(path: Path) -> Any:
    if path.stem == "columns-and-terms":
        return DynamicTreeModel.load(path)
    return dyntree.load(path)


def test_there_are_files_of_the_present_version() -> None:
    versions = {path.parent.name for path in FILES}
    assert versions == {f"v{checkpoint.VERSION}"}
    for version in versions:
        told = json.loads((FOLDER / version / "answers.json").read_text())["answers"]
        assert {p.stem for p in FILES if p.parent.name == version} == set(told)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name} {p.stem}")
def test_a_saved_model_answers_as_it_did(path: Path) -> None:
    got, expected = answer(loaded(path)), known(path)
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        if name in ("seen", "active", "frozen", "classes"):
            assert json.loads(json.dumps(got[name])) == value, name
        else:
            np.testing.assert_allclose(got[name], value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name} {p.stem}")
def test_a_file_from_before_positions_has_none(path: Path) -> None:
    load = DynamicTreeModel.load if path.stem == "columns-and-terms" else dyntree.load
    model, position = load(path, with_position=True)
    assert type(model) is type(loaded(path))
    assert position is None


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name} {p.stem}")
def test_a_saved_model_goes_on(path: Path) -> None:
    model = loaded(path)
    if path.stem == "columns-and-terms":
        rows = {"a": [0.1, 0.2], "site": ["u", "v"], "day": [None, None]}
        assert model.append([0.1, 0.3], rows).nobs == 42
        return
    tree = model.tree
    X, y = data("class" if tree.options.model == "class" else "constant", 5, seed=7)
    if tree.columns is not None:
        X = [{"r": 0.5, "p": x, "q": "u"} for x in X[:, 0]]
    before = tree.n_seen
    model.update(X, y)
    assert tree.n_seen == before + 5 * (path.stem != "frozen")


@pytest.mark.parametrize("version", [0, checkpoint.VERSION + 1, "1", None, True, [1]])
def test_another_version_is_refused_by_its_name(version: Any) -> None:
    header, arrays = archive.read(io.BytesIO(FILES[0].read_bytes()))
    file = io.BytesIO()
    archive.write(file, header | {"version": version}, arrays)
    with pytest.raises(CheckpointError) as caught:
        checkpoint.loads(file.getvalue())
    assert f"version {version!r} of the format" in str(caught.value)


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob(f"v{checkpoint.VERSION}/*.dyn")), ids=lambda p: p.stem
)
def test_the_version_changes_with_the_layout(path: Path) -> None:
    """What is written is what was kept; if not, the format needs a new version."""
    if path.stem != "columns-and-terms":  # which has notes of its own
        written = checkpoint.dumps(loaded(path))
        assert without_release(written) == without_release(path.read_bytes())


def without_release(content: bytes) -> bytes:
    """A file without the release that wrote it, which means nothing."""
    header, arrays = archive.read(io.BytesIO(content))
    del header["release"]
    again = io.BytesIO()
    archive.write(again, header, arrays)
    return again.getvalue()
