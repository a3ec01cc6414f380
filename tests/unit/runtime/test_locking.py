"""Forks of a process with threads: models answer in the child as in the parent."""

import os
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DelayedLabels,
    DynamicTree,
    StreamingTree,
)
from dyntree.mixtures import Canopy, CoverTree
from dyntree.runtime import locking

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="this system has no fork"
)

rng = np.random.default_rng(7)
X = rng.normal(size=(600, 3))
y = X[:, 0] + 0.1 * rng.normal(size=600)
LABELS = (X[:, 0] > 0).astype(int)

TREES = {
    "tree": lambda: DynamicTree(n_particles=40, seed=1).update(X, y),
    "stream": lambda: StreamingTree(window=50, n_particles=40, seed=1).update(X, y),
    "average of streams": lambda: AveragedStream(n_particles=20, seed=1).update(
        X, y, threads=2
    ),
    "average of trees": lambda: AveragedTrees(
        "class", n_clouds=2, n_particles=20, seed=1
    ).update(X, LABELS),
}


def in_child(work):
    """Exit code of a fork of this process that does `work`; None where it hangs.

    The code is 0 where `work` returned True, 1 where it returned anything else, and 2
    where it raised.
    """
    with warnings.catch_warnings():
        # Python 3.12 and later warn of a fork where there are threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() is True else 1)
        except BaseException:
            os._exit(2)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


@pytest.mark.parametrize("name", TREES)
def test_a_fork_answers_and_learns_as_its_parent_does(name):
    model = TREES[name]()
    target = LABELS if "trees" in name else y

    def answers():
        told = model.predict(X, threads=2)
        return told.proba if "trees" in name else told.mean

    asked = answers()
    assert in_child(lambda: np.array_equal(answers(), asked)) == 0

    def learns():
        model.update(X[:50], target[:50])
        return not np.array_equal(answers(), asked)

    assert in_child(learns) == 0
    np.testing.assert_array_equal(answers(), asked)


def test_a_fork_of_a_mixture_answers_as_its_parent_does():
    rows = rng.normal(size=(30_000, 3))
    tree = CoverTree(rows)
    distances, _ = tree.query(X, k=3)
    assert in_child(lambda: np.array_equal(tree.query(X, k=3)[0], distances)) == 0

    def fitted():
        model = Canopy(5, tol=0.1, seed=1, threads=2).fit(rows)
        return model.labels_

    labels = fitted()
    assert in_child(lambda: np.array_equal(fitted(), labels)) == 0


def test_a_fork_waits_for_the_call_of_another_thread():
    model = DynamicTree(n_particles=40, seed=1)
    teacher = threading.Thread(target=model.update, args=(X, y))
    teacher.start()
    while model.n_seen == 0:
        time.sleep(0.001)
    seen = in_child(lambda: model.predict(X[:5]).mean.size == 5 and model.n_seen == 600)
    teacher.join()
    assert seen == 0
    assert model.n_seen == 600


def test_a_fork_that_waited_in_vain_names_the_remedy(monkeypatch):
    monkeypatch.setattr(locking, "PATIENCE", 0.05)
    model = DynamicTree(n_particles=40, seed=1).update(X, y)
    other = DynamicTree(n_particles=40, seed=1).update(X, y)
    inside, leave = threading.Event(), threading.Event()

    def stays():
        with model.state.lock:
            inside.set()
            leave.wait()

    teacher = threading.Thread(target=stays)
    teacher.start()
    inside.wait()

    def refused():
        with pytest.raises(RuntimeError, match="load the model in this process"):
            model.predict(X)
        return bool(np.isfinite(other.predict(X).mean).all())

    try:
        assert in_child(refused) == 0
    finally:
        leave.set()
        teacher.join()
    assert np.isfinite(model.predict(X).mean).all()


def test_a_fork_of_a_fork_answers():
    model = DynamicTree(n_particles=40, seed=1).update(X, y)
    asked = model.predict(X, threads=2).mean

    def again():
        return np.array_equal(model.predict(X, threads=2).mean, asked)

    assert in_child(lambda: in_child(again) == 0) == 0


def test_forks_under_load_neither_wait_for_long_nor_lose_a_model():
    """Each call is short, and the next begins at once."""
    models = [TREES["stream"]() for _ in range(3)]
    late = DelayedLabels(models[0])  # whose calls go from one model to another
    stop = threading.Event()

    def teach(learn):
        k = 0
        while not stop.is_set():
            learn(k)
            k += 1

    def learn_late(k):
        late.predict_later(k, X[k % 600])
        late.learn(k, y[k % 600])

    work = [learn_late] + [
        lambda k, model=model: model.update(X[k % 600 : k % 600 + 1], y[:1])
        for model in models[1:]
    ]
    teachers = [threading.Thread(target=teach, args=(one,)) for one in work]
    for teacher in teachers:
        teacher.start()
    try:
        for _ in range(5):
            start = time.monotonic()
            told = in_child(
                lambda: (
                    all(model.predict(X[:5]).mean.size == 5 for model in models)
                    and late.predict_later("new", X[0]).mean.size == 1
                )
            )
            assert told == 0
            assert time.monotonic() - start < locking.PATIENCE
    finally:
        stop.set()
        for teacher in teachers:
            teacher.join()


def test_a_fork_of_a_fork_that_waited_in_vain_uses_the_other_models(monkeypatch, capfd):
    monkeypatch.setattr(locking, "PATIENCE", 0.05)
    models = [DynamicTree(n_particles=40, seed=1).update(X, y) for _ in range(6)]
    inside, leave = threading.Event(), threading.Event()

    def stays():
        with models[3].exclusive():
            inside.set()
            leave.wait()

    def others_answer():
        with pytest.raises(RuntimeError, match="load the model in this process"):
            models[3].predict(X[:5])
        return all(models[k].predict(X[:5]).mean.size == 5 for k in (0, 1, 2, 4, 5))

    def forks_again():
        raised = []
        monkeypatch.setattr(sys, "unraisablehook", raised.append)  # Python's, of hooks
        return in_child(others_answer) == 0 and not raised

    teacher = threading.Thread(target=stays)
    teacher.start()
    inside.wait()
    try:
        assert in_child(forks_again) == 0
    finally:
        leave.set()
        teacher.join()
