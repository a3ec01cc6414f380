"""Files of mixtures: what no model could have written is refused."""

from __future__ import annotations

import json
import signal
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import cli
from dyntree.errors import CheckpointError
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from tests.helpers import model_bytes

MADE: dict[str, Callable[[], Any]] = {
    "gmm": lambda: OnlineDPGMM(9.0),
    "mppca": lambda: OnlineDPMPPCA(3.0, noise=0.5),
    "thin mppca": lambda: OnlineDPMPPCA(3.0, noise=0.5, subspace="incremental"),
    "hsmm": lambda: OnlineHDPHSMM(6.0, noise=0.5, lambda_4=0.1),
    "round hsmm": lambda: OnlineHDPHSMM(6.0, noise=0.5, emission="gmm"),
}


def rows(n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)) + 6.0 * rng.integers(3, size=(n, 1))


@pytest.mark.parametrize("name", MADE)
def test_changed_files_are_refused_or_hold_a_model(name: str) -> None:
    """Whatever is changed, there is an error of ours, or a model that goes on."""
    rng = np.random.default_rng(1)
    header, arrays = MADE[name]().update(rows()).to_arrays()
    kind = type(MADE[name]())
    text = json.dumps(header)
    n_refused = 0
    for turn in range(400):
        told, given = json.loads(text), {k: v.copy() for k, v in arrays.items()}
        which = str(rng.choice(list(given)))
        array = given[which]
        odd = [0, -1, 7, 10**6] if array.dtype.kind == "i" else [-1, np.nan, np.inf]
        if turn % 5 == 0 and array.size:
            array.reshape(-1)[rng.integers(array.size)] = rng.choice(odd)
        elif turn % 5 == 1:
            given[which] = array[:-1]
        elif turn % 5 == 2:
            del given[which]
        elif turn % 5 == 3:
            given[which] = array.astype("f8" if array.dtype.kind == "i" else "i8")
        else:
            told[str(rng.choice(list(told)))] = [None, 0, "x", -1.5][turn % 4]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = kind.from_arrays(told, given)
        except (ValueError, LookupError, TypeError, AttributeError):
            n_refused += 1
            continue
        model.update(5.0 * rows(40)).predict(rows(5))
        model.to_arrays()
    assert n_refused > 200


def test_a_file_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    model = OnlineDPGMM(9.0).update(rows())
    dyntree.save(model, tmp_path / "m.dyn")
    data = (tmp_path / "m.dyn").read_bytes()
    (tmp_path / "cut.dyn").write_bytes(data[:-40])
    with pytest.raises(CheckpointError):
        dyntree.load(tmp_path / "cut.dyn")
    header, arrays = model.to_arrays()
    arrays["weight"] = -arrays["weight"]
    with pytest.raises(ValueError, match="weight has values"):
        OnlineDPGMM.from_arrays(header, arrays)


def test_the_console_tells_of_a_mixture_and_finds_clusters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame(rows(), columns=["p", "q", "r"])
    model = OnlineDPMPPCA(3.0, noise=0.5).update(frame)
    dyntree.save(model, tmp_path / "m.dyn")
    frame[["r", "p", "q"]].to_csv(tmp_path / "rows.csv", index=False)
    assert cli.main(["info", str(tmp_path / "m.dyn"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["columns"]) == ("OnlineDPMPPCA", ["p", "q", "r"])
    assert facts["clusters"] == model.n_clusters
    out = tmp_path / "out.csv"
    call = ["predict", str(tmp_path / "m.dyn"), str(tmp_path / "rows.csv")]
    assert cli.main([*call, "--out", str(out)]) == 0
    assert pd.read_csv(out)["cluster"].tolist() == model.predict(frame).tolist()


@pytest.mark.parametrize("name", MADE)
def test_ctrl_c_leaves_complete_rows(name: str) -> None:
    """A signal while the kernel works; what is learned is that of the rows counted."""
    X = np.tile(rows(), (4000, 1))
    model = MADE[name]()

    def press(done: int, total: int) -> None:
        if not pressed and done:
            pressed.append(done)
            threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()

    def learn_on() -> None:
        for _ in range(100):
            model.update(X, progress=press)

    pressed: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        learn_on()
    n = model.n_seen % len(X)
    assert model.n_seen > 0
    again = MADE[name]()
    for _ in range(model.n_seen // len(X)):
        again.update(X)
    again.update(X[:n])
    assert model_bytes(again) == model_bytes(model)


def test_calls_from_several_threads_wait_for_one_another() -> None:
    X = np.tile(rows(), (50, 1))
    model = OnlineDPMPPCA(3.0, noise=0.5)
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(40):
                if model.is_ready:
                    model.predict(X[:50])
                    model.clusters()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        model.update(X)
    for thread in threads:
        thread.join()
    assert not errors
    one = OnlineDPMPPCA(3.0, noise=0.5)
    for _ in range(5):
        one.update(X)
    assert model_bytes(model) == model_bytes(one)


def test_memory_is_flat_at_a_cap() -> None:
    """Every row opens a cluster, another one merges, and nothing is kept of it."""
    rng = np.random.default_rng(0)
    model = OnlineDPGMM(1.0, max_clusters=8, min_weight=1)
    model.update(1e3 * rng.normal(size=(140_000, 2)), progress=False)
    held = model.update([[0.0, 0.0]]).memory_usage()
    model.update(1e3 * rng.normal(size=(140_000, 2)), progress=False)
    assert model.update([[0.0, 0.0]]).memory_usage() == held
    assert len(model.aliases_) <= 65536
    assert model_bytes(model.copy()) == model_bytes(model)
