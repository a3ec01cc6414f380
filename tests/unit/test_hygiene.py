"""Nothing outside a model changes, and the form of the input does not matter."""

from __future__ import annotations

import io
import json
import locale
import os
import random
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import joblib  # noqa: F401 - when first imported it sets KMP_INIT_AT_FORK
import numpy as np
import pytest
import scipy.stats  # noqa: F401 - when first imported it adds a filter of warnings

import dyntree
from dyntree.api import rmirror as r
from dyntree.demo import trees as demo
from dyntree.evaluate import prequential
from tests.helpers import model_bytes, same_bytes
from tests.unit.conftest import ROOT, TREE, python
from tests.unit.models import MODELS, data, frame, fresh, grown, labelled, stream

pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.LearnedRowsWarning")


def everything(name: str) -> None:
    """Fit, ask, retire, rejuvenate, draw, evaluate, stream."""
    X, y = data(name)
    model = dyntree.DynamicTree(**MODELS[name], n_particles=20).update(X, y)
    model.predict(X).sample(3)
    model.stats()
    model.relevance()
    model.sensitivity(n_samples=20, n_grid=3, label="a" if name == "class" else None)
    model.active_values("random")
    if name != "implicit":
        model.retire([3], forget=0.9)
        stream(name, discard="random", rejuvenate_every=5).update(X, y)
    model.rejuvenate().update(X, y, progress=lambda done, total: None)
    prequential(model.copy(), X, y)
    dyntree.fit_repeats(fresh(name, **labelled(name)), X, y, 2)


def outside() -> list[Any]:
    """The process's own state that a library must leave alone."""
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    return [
        random.getstate(),
        [kind, words.tobytes(), rest],
        list(warnings.filters),
        np.geterr(),
        np.get_printoptions(),
        dict(os.environ),
        Path.cwd(),
        threading.active_count(),
        sys.getrecursionlimit(),
        locale.setlocale(locale.LC_ALL),
        os.sched_getaffinity(0),
    ]


@pytest.mark.parametrize("name", MODELS)
def test_the_process_is_left_as_it_was(name: str) -> None:
    before, n_threads = outside(), threading.active_count()
    everything(name)
    for _ in range(500):  # workers of repeats end a moment after their work
        if threading.active_count() == n_threads:
            break
        time.sleep(0.01)
    assert outside() == before


@cache
def held_under(seed: int) -> dict[str, str]:
    """What models hold in a process with a global seed, which is set for each anew."""
    code = (
        "import json, random, sys, numpy as np\n"
        "from tests.unit.models import MODELS, data, fresh\n"
        "held = {}\n"
        "for name in MODELS:\n"
        "    random.seed(int(sys.argv[1])); np.random.seed(int(sys.argv[1]))\n"
        "    model = fresh(name).update(*data(name)).rejuvenate()\n"
        "    held[name] = repr(model.to_arrays())\n"
        "print(json.dumps(held))\n"
    )
    process = python("-c", code, str(seed))
    assert process.returncode == 0, process.stderr
    held: dict[str, str] = json.loads(process.stdout)
    return held


@pytest.mark.parametrize("name", MODELS)
def test_global_seeds_have_no_say(name: str) -> None:
    first, second = held_under(1)[name], held_under(2)[name]
    assert len(first) > 1000
    assert first == second


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    everything("class")
    assert capfd.readouterr() == ("", "")


def test_the_demos_pieces_touch_no_global_state(tmp_path: Path) -> None:
    import matplotlib as mpl
    import matplotlib.figure

    before, settings = outside(), dict(mpl.rcParams)
    X, y = demo.shuffled_spambase()
    model = stream("class", classes=(0, 1), discard="entropy").update(X[:40], y[:40])
    seen = prequential(model, X[40:80], y[40:80])
    one = demo.Contender("learning on", model, seen)
    demo.picture([one, one], window=5).savefig(tmp_path / "p.png")
    demo.write_predictions(tmp_path / "p.csv", [one])
    print(demo.report([one]), file=io.StringIO())
    assert outside() == before
    assert dict(mpl.rcParams) == settings


def test_the_demos_picture_needs_no_display() -> None:
    code = (
        "import sys\nfrom types import SimpleNamespace as S\nimport numpy as np\n"
        "from dyntree.demo import trees as demo\n"
        "seen = S(rows=np.arange(9), rolling=lambda n: np.ones(9),\n"
        "         to_dict=lambda: {'error': .1, 'baseline': {'error': .2}})\n"
        "one = demo.Contender('a', None, seen)\n"
        "demo.picture([one, one], window=2).canvas.draw()\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    process = python("-c", code)
    assert (process.returncode, process.stdout) == (0, "False\n"), process.stderr


# ---------------------------------------------------------------- inputs
def read_only(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values.setflags(write=False)
    return values


def strided(values: np.ndarray) -> np.ndarray:
    wide = np.full((2 * values.shape[0], 3 * values.shape[1]), np.nan)
    wide[::2, 1::3] = values
    return wide[::2, 1::3]


# whole numbers, so that every type holds them exactly
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "read-only": read_only,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: X[::-1].copy()[::-1],
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "int64": lambda X: X.astype(np.int64),
    "uint8": lambda X: X.astype(np.uint8),
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "frame": lambda X: frame(X, "pq"),
    "frame of ints": lambda X: frame(X.astype(int), "pq"),
    "frame, other order": lambda X: frame(X[:, ::-1], "qp"),
    "dicts": lambda X: frame(X[:, ::-1], "qp").to_dict("records"),
}


def whole(name: str) -> tuple[np.ndarray, Any]:
    X, y = data(name)
    return np.round(X * 200.0), y


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["constant", "augmented", "class"])
def test_every_form_of_rows_gives_the_same_bytes(name: str, form: str) -> None:
    X, y = whole(name)
    expected = fresh(name).update(frame(X[:30], "pq"), y[:30])
    model = expected.copy()
    expected.update(X[30:], y[30:])
    model.update(FORMS[form](X[30:]), y[30:])
    assert model_bytes(model) == model_bytes(expected)
    told, other = expected.predict(X), model.predict(FORMS[form](X))
    field = "proba" if name == "class" else "mean"
    assert getattr(told, field).tobytes() == getattr(other, field).tobytes()
    if name != "class":
        rows = FORMS[form](X)
        assert model.acquisition(rows, "alc", Xref=rows).tobytes() == (
            expected.acquisition(X, "alc", Xref=X).tobytes()
        )


RESPONSES: dict[str, Callable[[np.ndarray], Any]] = {
    "read-only": read_only,
    "strided": lambda y: np.repeat(y, 2)[::2],
    "float32": lambda y: y.astype(np.float32),
    "ints": lambda y: y.astype(int),
    "list": lambda y: y.tolist(),
    "tuple": lambda y: tuple(y.tolist()),
    "series": lambda y: frame(y[:, None], "y")["y"],
    "series, odd index": lambda y: frame(y[:, None], "y").iloc[::-1]["y"].iloc[::-1],
}


@pytest.mark.parametrize("form", RESPONSES)
def test_every_form_of_responses_gives_the_same_bytes(form: str) -> None:
    X, y = whole("constant")
    y = np.round(10.0 * y)
    model = fresh("constant").update(X, RESPONSES[form](y))
    assert model_bytes(model) == model_bytes(fresh("constant").update(X, y))


LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "objects": lambda y: y.astype(object),
    "bytes apart": lambda y: np.repeat(y, 2)[::2],
    "list": lambda y: y.tolist(),
    "series": lambda y: __import__("pandas").Series(y),
    "categories": lambda y: __import__("pandas").Series(y, dtype="category"),
    "pandas strings": lambda y: __import__("pandas").Series(y, dtype="string"),
}


@pytest.mark.parametrize("form", LABELS)
def test_every_form_of_labels_gives_the_same_bytes(form: str) -> None:
    X, y = data("class")
    model = fresh("class").update(X, LABELS[form](y))
    assert model_bytes(model) == model_bytes(grown("class"))


@pytest.mark.parametrize("name", MODELS)
def test_inputs_are_never_written_to(name: str) -> None:
    X, y = data(name)
    kept_X, kept_y = X.copy(), y.copy()
    rows, kept_rows = frame(X, "pq"), frame(X.copy(), "pq")
    model = fresh(name, **labelled(name)).update(X, y)
    model.update(rows, y).predict(rows)
    model.predict(X)
    order, ids = np.arange(119, -1, -1), np.array([4, 7])
    model.rejuvenate(order)
    if name != "implicit":
        model.retire(ids, 0.9)
    prequential(model, X, y)
    assert X.tobytes() == kept_X.tobytes()
    assert np.array_equal(y, kept_y)
    assert rows.equals(kept_rows)
    assert order.tolist() == list(range(119, -1, -1))
    assert ids.tolist() == [4, 7]


def test_answers_are_their_own() -> None:
    """Changing what a model handed out does not change the model."""
    model = grown("constant")
    with same_bytes(model):
        for answer in (
            model.active_values("age"),
            model.active_ids,
            model.acquisition([[0.5, 0.5]], "alm"),
        ):
            answer[:] = 0
        for array in model.to_arrays()[1].values():
            array[...] = 0


def test_the_mirror_and_the_model_do_not_share_a_stream() -> None:
    X, y = data("constant")
    model = grown("constant")
    twin = model.copy()
    r.dynaTree(X, y, N=5, seed=1, verb=0)
    model.update(X, y)
    assert model_bytes(model) == model_bytes(twin.update(X, y))


FOREIGN = r"""install +(-\S+ +)*['"]*dyntree\b|['"]dyntree\[\w"""


def test_nobody_is_sent_to_the_package_of_another_project() -> None:
    """The name on PyPI is not ours: every line that installs it names a clone."""
    folders = ROOT / "dyntree", ROOT / "rbridge", TREE / "vignettes"
    paths = [TREE / "README.md", *(path for one in folders for path in one.rglob("*"))]
    found = [
        path
        for path in paths
        if path.suffix in (".py", ".R", ".Rd", ".md", ".txt")
        and re.search(FOREIGN, path.read_text("utf-8"))
    ]
    assert not found
