"""Repeats: bit for bit the fits done by hand, whatever the threads; interrupts."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import ThreadingBackend

from dyntree import DynamicTree, StreamingTree, fit_repeats
from dyntree.evaluate import prequential_each
from dyntree.runtime.parallel import side_by_side
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import data, frame, fresh, grown, interrupt_after, refused
from tests.unit.models import stream as r_stream

OPTIONS = {"n_particles": 20, "seed": 3}
NEW = {
    "constant": lambda **o: DynamicTree("constant", **(OPTIONS | o)),
    "linear": lambda **o: DynamicTree("linear", **(OPTIONS | o)),
    "class": lambda **o: DynamicTree("class", **(OPTIONS | o)),
    "R's rules": lambda **o: fresh("augmented", **o),
    "stream": lambda **o: StreamingTree("linear", window=25, **(OPTIONS | o)),
    "drifting": lambda **o: StreamingTree(
        "class", window=25, drift=True, **OPTIONS | o
    ),
    "R's stream": lambda **o: r_stream("class", discard="random", **o),
}


def rows(name: str, n: int = 60) -> tuple[np.ndarray, Any]:
    model = NEW[name]()
    tree = model if isinstance(model, DynamicTree) else model.tree
    return data(tree.options.model, n)


def seed_of(model: Any) -> int:
    return model.seed if isinstance(model, DynamicTree) else model.tree.seed


@pytest.mark.parametrize("name", NEW)
def test_threads_change_no_bit(name: str) -> None:
    X, y = rows(name)
    one, *others = (
        [model_bytes(m) for m in fit_repeats(NEW[name](), X, y, 5, threads=n)]
        for n in (1, 2, 7)
    )
    assert others == [one, one]


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_repeat_is_the_fit_done_by_hand(name: str, shuffle: bool) -> None:
    X, y = rows(name)
    repeats = fit_repeats(NEW[name](), X, y, 4, shuffle=shuffle, threads=2)
    for k, repeat in enumerate(repeats):
        order = np.arange(len(y))
        if shuffle and k:
            order = np.random.default_rng(seed_of(repeat)).permutation(len(y))
        by_hand = NEW[name](seed=seed_of(repeat)).update(X[order], y[order])
        assert type(repeat) is type(by_hand)
        assert model_bytes(repeat) == model_bytes(by_hand)


def test_seeds_are_the_children_of_the_models_own() -> None:
    X, y = data("constant")
    seeds = [m.seed for m in fit_repeats(NEW["constant"](seed=8), X, y, 6)]
    children = np.random.SeedSequence(8).spawn(6)
    assert seeds == [child.generate_state(1)[0] for child in children]
    assert len(set(seeds)) == 6
    assert [m.seed for m in fit_repeats(NEW["constant"](seed=8), X, y, 2)] == seeds[:2]
    assert len(fit_repeats(DynamicTree(n_particles=5), X, y)) == 10


@pytest.mark.parametrize("name", ["linear", "stream"])
def test_the_model_given_stays_as_it_is(name: str) -> None:
    X, y = rows(name)
    model = NEW[name]()
    with same_bytes(model):
        fit_repeats(model, X, y, 2)


def test_every_form_of_rows_gives_the_same_bytes() -> None:
    X, y = data("class")
    numbers = frame(X, "pq")
    mixed = numbers.assign(q=np.where(X[:, 1] > 0.5, "high", "low"))
    odd = mixed.set_index(np.arange(60)[::-1] % 7)
    for given in (numbers, mixed):
        forms = [given, given.to_dict("records"), tuple(given.to_dict("records"))]
        series = frame(y[:, None], "y")["y"]
        pairs = [(form, labels) for form in forms for labels in (y, y.tolist(), series)]
        if given is mixed:  # an index that the labels have too, or have none beside
            pairs += [(odd, y), (odd, series.set_axis(odd.index))]
        one, *others = (
            [model_bytes(m) for m in fit_repeats(NEW["class"](), form, labels, 3)]
            for form, labels in pairs
        )
        assert all(other == one for other in others)


# ---------------------------------------------------------------- refusals
def with_value(row: int, value: float) -> dict[str, Any]:
    X, _ = data("constant")
    X[row, 1] = value
    return {"X": X, "threads": 2}


BAD: list[tuple[dict[str, Any], str, str]] = [
    *[({name: value}, name, repr(value)) for name, values in {
        "n_repeats": (0, -1, 2.0, True, "3", None), "threads": (2**40, 0, -1, 1.5, "2"),
        "shuffle": (1, None, "yes"), "progress": (3,),
    }.items() for value in values],
    (with_value(17, np.nan), "X", "nan in row 17, column 1"),
    (with_value(3, np.inf), "X", "inf in row 3, column 1"),
    ({"y": [*range(17), np.nan, *range(42)], "threads": 2}, "y", "nan in row 17"),
    ({"X": np.empty((0, 2)), "y": []}, "X", "none"),
    ({"y": np.arange(59)}, "y", "(59,)"),
    ({"y": np.zeros(60), "threads": 1}, "y", "two distinct values"),
    ({"y": np.zeros(60), "threads": 2}, "y", "two distinct values"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "name", "came"), BAD)
def test_arguments_are_checked_by_name(options: Any, name: str, came: str) -> None:
    X, y = data("constant")
    model = fresh("constant")
    with refused(name, came, model):
        fit_repeats(model, **{"X": X, "y": y, "n_repeats": 3} | options)


@pytest.mark.parametrize("n_rows", [2, 60])
def test_only_models_without_rows_are_taken(n_rows: int) -> None:
    X, y = data("constant")
    for model in (grown("constant", n_rows), r_stream("class").update(*data("class"))):
        with refused("model", f"seen {model.n_seen}", model):
            fit_repeats(model, X, y, 2)
    for bad in (DynamicTree, "constant", None):
        with refused("model", repr(bad)):
            fit_repeats(bad, X, y, 2)


# ---------------------------------------------------------------- where they run
def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data("constant")
    one = [model_bytes(m) for m in fit_repeats(fresh("constant"), X, y, 3)]
    monkeypatch.setenv("DYNTREE_NUM_THREADS", "2")
    two = [model_bytes(m) for m in fit_repeats(fresh("constant"), X, y, 3)]
    assert one == two
    for bad in ("few", "0", str(2**40)):
        monkeypatch.setenv("DYNTREE_NUM_THREADS", bad)
        with refused("DYNTREE_NUM_THREADS", repr(bad)):
            fit_repeats(fresh("constant"), X, y, 3)


class Cluster(ThreadingBackend):
    """A backend of the user's own."""

    used: ClassVar[list[int]] = []

    def submit(self, func: Any, callback: Any = None) -> Any:
        self.used.append(self._n_jobs)
        return super().submit(func, callback)


def test_an_enclosing_config_chooses_backend_and_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Cluster, "used", [])
    monkeypatch.delenv("DYNTREE_NUM_THREADS", raising=False)
    joblib.register_parallel_backend("cluster", Cluster)
    X, y = data("constant")
    plain = [model_bytes(m) for m in fit_repeats(fresh("constant"), X, y, 4)]
    assert Cluster.used == []
    with joblib.parallel_config("cluster", n_jobs=3):
        there = [model_bytes(m) for m in fit_repeats(fresh("constant"), X, y, 4)]
        fit_repeats(fresh("constant"), X, y, 2, threads=2)
    assert Cluster.used == [3, 3, 3, 3, 2, 2]
    assert there == plain


# ---------------------------------------------------------------- interrupts, progress
@contextmanager
def threads_end(seconds: float) -> Iterator[None]:
    """Fail unless, after the block, as many threads run as before it, and soon."""
    before = threading.active_count()
    yield
    deadline = time.monotonic() + seconds
    while threading.active_count() > before:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.01)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["constant", "stream"])
def test_ctrl_c_ends_all_repeats_at_once(name: str, threads: int) -> None:
    """Each repeat would take many seconds."""
    X, y = data("constant", 300_000)
    model = NEW[name](n_particles=100)
    with threads_end(3.0), same_bytes(model), interrupt_after(0.2) as arm:
        arm()
        fit_repeats(model, X, y, 3, threads=threads)


@pytest.mark.parametrize("n_started", [1, 2, 3])
def test_ctrl_c_as_threads_start_waits_until_they_can_be_ended(
    n_started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    start = threading.Thread.start

    def start_and_press(thread: threading.Thread) -> None:
        start(thread)
        started.append(thread)
        if len(started) == n_started:
            signal.raise_signal(signal.SIGINT)

    X, y = data("constant", 300_000)
    model, handler = NEW["constant"](n_particles=100), signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(threading.Thread, "start", start_and_press)
    with threads_end(3.0), pytest.raises(KeyboardInterrupt):
        fit_repeats(model, X, y, 3, threads=2)
    assert signal.getsignal(signal.SIGINT) is handler


def test_another_thread_may_ask_for_them() -> None:
    """Only the main thread may hold a Ctrl-C back."""
    X, y = data("constant")
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(fit_repeats, fresh("constant"), X, y, 3, threads=2).result()
    here = fit_repeats(fresh("constant"), X, y, 3, threads=2)
    assert [model_bytes(m) for m in there] == [model_bytes(m) for m in here]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_by_progress_comes_through(threads: int) -> None:
    X, y = data("constant", 5000)
    told = []

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        raise KeyboardInterrupt

    with threads_end(3.0), pytest.raises(KeyboardInterrupt):
        fit_repeats(fresh("constant"), X, y, 50, threads=threads, progress=stop)
    assert told == [(5000, 250_000)]


@pytest.mark.parametrize("progress", [True, False, None])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_bar_is_shown_only_where_asked_and_changes_nothing(
    progress: bool | None, threads: int, capfd: pytest.CaptureFixture[str]
) -> None:
    X, y = data("class")
    repeats = fit_repeats(fresh("class"), X, y, 3, threads=threads, progress=progress)
    out, err = capfd.readouterr()
    assert out == ""
    assert ("180/180" in err) == (progress is True)
    assert (err == "") == (progress is not True)
    again = fit_repeats(fresh("class"), X, y, 3)
    assert [model_bytes(m) for m in repeats] == [model_bytes(m) for m in again]


def test_a_callable_hears_of_the_rows_of_all_repeats() -> None:
    X, y = data("constant")
    told: list[tuple[int, int]] = []
    fit_repeats(
        fresh("constant"), X, y, 4, threads=2, progress=lambda *rows: told.append(rows)
    )
    assert told == [(60, 240), (120, 240), (180, 240), (240, 240)]


def test_a_frozen_stream_is_refused() -> None:
    X, y = rows("stream")
    with pytest.raises(ValueError, match="model must not be frozen"):
        fit_repeats(NEW["stream"]().freeze(), X, y, 2)


def words(models: list[Any]) -> list[Any]:
    return [model_bytes(model) for model in models]


@contextmanager
def processes_of_loky() -> Iterator[None]:
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield
    get_reusable_executor().shutdown(wait=True)


@contextmanager
def processes_of_dask() -> Iterator[None]:
    distributed = pytest.importorskip(
        "distributed", reason="dask.distributed is not installed"
    )
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        warnings.simplefilter("ignore")  # of ports and of its own event loop
        yield


def process_of(number: int, brake: Any) -> int:
    return os.getpid()


@pytest.mark.usefixtures("global_randomness_on_loan")  # distributed draws from it
@pytest.mark.parametrize("where", [processes_of_loky, processes_of_dask])
def test_processes_give_the_same_numbers(where: Any) -> None:
    X, y = data("constant")
    windows = {str(n): StreamingTree(window=n, **OPTIONS) for n in (15, 30)}
    expected = {name: words(fit_repeats(NEW[name](), *rows(name), 3)) for name in NEW}
    seen = prequential_each(windows, X, y, start=20)
    with where():
        found = {name: words(fit_repeats(NEW[name](), *rows(name), 3)) for name in NEW}
        there = prequential_each(windows, X, y, start=20)
        (other,) = side_by_side(process_of, [(1,)], 2, lambda: None)
    assert other != os.getpid()
    assert found == expected
    for name, one in seen.items():
        assert there[name].losses.tobytes() == one.losses.tobytes()
        assert there[name].scores == one.scores


def test_repeats_of_counts_have_exposures() -> None:
    rng = np.random.default_rng(5)
    X, hours = rng.random((60, 1)), rng.uniform(0.5, 4.0, 60)
    y = rng.poisson(3.0 * hours)
    model = DynamicTree("negbin", n_particles=10, seed=1)
    repeats = fit_repeats(model, X, y, 2, exposure=hours, sample_weight=2.0)
    alone = model.reseeded(repeats[0].seed).update(X, y, 2.0, exposure=hours)
    assert model_bytes(repeats[0]) == model_bytes(alone)
    order = np.random.default_rng(repeats[1].seed).permutation(60)
    alone = model.reseeded(repeats[1].seed).update(
        X[order], y[order], 2.0, exposure=hours[order]
    )
    np.testing.assert_allclose(
        repeats[1].predict(X, exposure=1).mean,
        alone.predict(X, exposure=1).mean,
        rtol=1e-12,
    )
    with pytest.raises(ValueError, match="exposure must be finite and > 0"):
        fit_repeats(model, X, y, 2, exposure=-hours)
    with pytest.raises(ValueError, match="exposure is for counts"):
        fit_repeats(DynamicTree(n_particles=5), X, y, 2, exposure=hours)
