"""Threads: one model takes their calls in turn, several models do not meet."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyntree import DynamicTree, StreamingTree, checkpoint
from dyntree.errors import MissingInputWarning, UnseenLevelWarning, silenced, warn
from tests.helpers import model_bytes, same_bytes
from tests.probes import audit
from tests.unit.conftest import python
from tests.unit.models import data

N_THREADS, N_TURNS = 8, 10


def together(work: Callable[[int], object], n_threads: int = N_THREADS) -> None:
    """Run ``work(k)`` in so many threads at once; the first error comes through."""
    errors: list[BaseException] = []
    ready = threading.Barrier(n_threads)

    def run(k: int) -> None:
        try:
            ready.wait()
            work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def stream(model: str, **options: Any) -> StreamingTree:
    options = {"window": 40, "n_particles": 100, "seed": 1} | options
    return StreamingTree(model, **options).update(*data(model, 60))


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_many_may_ask_one_model(model: str) -> None:
    tree, (X, _) = stream(model), data(model, 500, seed=2)
    field = "proba" if model == "class" else "mean"
    expected = getattr(tree.predict(X), field).tobytes()
    with same_bytes(tree):

        def ask(k: int) -> None:
            for _ in range(N_TURNS):
                told = tree.predict(X, threads=1 + k % 2)
                assert getattr(told, field).tobytes() == expected

        together(ask)


# a crash takes the process, so it happens in another one
CROWD = """
import sys
import numpy as np
from tests.probes import audit
from tests.unit.models import data
from tests.unit.test_threads import N_THREADS, N_TURNS, deeds, stream, together

model, rules = sys.argv[1:]
tree = stream(model, rules=rules, **(
    {"intercept": "augmented"} if (model, rules) == ("linear", "r") else {}))
X, y = data(model, N_THREADS * N_TURNS * 20, seed=3)
acts = deeds(tree, model)

def work(k):
    for turn in range(N_TURNS):
        first = (k * N_TURNS + turn) * 20
        acts[(k + turn) % len(acts)](X[first : first + 20], y[first : first + 20])

together(work)
audit(tree.tree.state.cloud)
print(tree.n_seen, tree.tree.n_active)
"""


def deeds(tree: StreamingTree, model: str) -> list[Callable[[Any, Any], object]]:
    """What may be done with a model; every other deed teaches it 20 rows."""

    def rows(X: Any, y: Any) -> object:
        return [tree.update(X[t : t + 1], y[t : t + 1]) for t in range(len(X))]

    def batch(X: Any, y: Any) -> object:
        return tree.update(X, y, progress=False)

    criterion = "entropy" if model == "class" else "alc"
    others: list[Callable[[Any, Any], object]] = [
        lambda X, y: tree.predict(X),
        lambda X, y: tree.tree.active_values(criterion),
        lambda X, y: tree.tree.relevance(),
        lambda X, y: model_bytes(tree.copy()),
        lambda X, y: checkpoint.loads(checkpoint.dumps(tree)),
        lambda X, y: (tree.tree.stats(), tree.memory_usage(), tree.tree.active_ids),
    ]
    return [
        deed for k, other in enumerate(others) for deed in ((rows, batch)[k % 2], other)
    ]


@pytest.mark.parametrize("rules", ["native", "r"])
@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_some_may_teach_while_others_ask(model: str, rules: str) -> None:
    process = python("-c", CROWD, model, rules)
    assert process.returncode == 0, process.stderr
    learned = 60 + 20 * N_THREADS * N_TURNS // 2
    assert process.stdout == f"{learned} 40\n"


def test_rows_that_come_from_many_threads_are_all_learned() -> None:
    tree, (X, y) = stream("constant", window=2000), data("constant", 800, seed=4)

    def teach(k: int) -> None:
        for t in range(k * 100, (k + 1) * 100):
            tree.update(X[t : t + 1], y[t : t + 1])

    together(teach)
    held = np.sort(tree.tree.state.cloud.rows()[1])
    assert held.tolist() == np.sort([*data("constant", 60)[1], *y]).tolist()
    audit(tree.tree.state.cloud)


def test_models_of_different_threads_do_not_meet() -> None:
    names = ["constant", "linear", "class"]
    made: dict[int, Any] = {}

    def work(k: int) -> None:
        X, y = data(names[k % 3], 200, seed=k)
        tree = stream(names[k % 3], seed=k).update(X, y)
        tree.predict(X)
        made[k] = model_bytes(tree)

    together(work)
    alone = dict(made)
    for k in range(N_THREADS):
        work(k)
    assert made == alone


def test_a_model_in_use_can_be_copied_and_asked_by_its_own_progress() -> None:
    tree = DynamicTree(n_particles=20, seed=1)
    told = []

    def ask(done: int, total: int) -> None:
        if tree.is_ready:
            told.append(tree.predict([[0.5, 0.5]]).mean[0])

    tree.update(*data("constant", 200), progress=ask)
    assert told
    for twin in (
        copy.copy(tree),
        copy.deepcopy(tree),
        pickle.loads(pickle.dumps(tree)),
    ):
        assert model_bytes(twin) == model_bytes(tree)
        assert twin._lock is not tree._lock


def test_a_warning_is_silenced_in_one_thread_alone() -> None:
    inside, outside = threading.Event(), threading.Event()

    def work(k: int) -> None:
        if k == 0:
            with silenced(MissingInputWarning):
                inside.set()
                assert outside.wait(60)
                warn(MissingInputWarning, "silenced")
                warn(UnseenLevelWarning, "another kind")
        else:
            assert inside.wait(60)
            warn(MissingInputWarning, "another thread")
            outside.set()

    filters = list(warnings.filters)
    with warnings.catch_warnings(record=True, action="always") as issued:
        together(work, 2)
    messages = {str(one.message) for one in issued}
    assert messages == {"another kind", "another thread"}
    assert warnings.filters == filters


def test_no_call_changes_the_filters_of_warnings() -> None:
    """They are those of all threads. The shell is alone in its process."""
    package = Path(checkpoint.__file__).parents[1]
    changing = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "catch_warnings(" in path.read_text(encoding="utf-8")
    }
    assert changing == {"cli.py"}
