"""All models meet the contract; what is no model is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree
from dyntree.mixtures import (
    Canopy,
    CanopyOptions,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
)
from dyntree.online import OnlineModel, check_online_model
from tests.contract import OnlineModelChecks, Rows
from tests.helpers import model_bytes, same_bytes

from .models import MODELS, data

SMALL: dict[str, Any] = {"n_particles": 12, "seed": 1}
ABC = ("a", "b", "c")


def options(name: str, **more: Any) -> dict[str, Any]:
    """Those of R's rules for leaves of that name, which name all labels."""
    return MODELS[name] | more | ({"classes": ABC} if name == "class" else {})


TREES: dict[str, tuple[type, dict[str, Any]]] = {
    "tree constant": (DynamicTree, {"model": "constant"}),
    "tree linear": (DynamicTree, {"model": "linear"}),
    "tree class": (DynamicTree, {"model": "class", "classes": ABC}),
    "tree prior": (DynamicTree, {"model": "prior"}),
    "stream constant": (StreamingTree, {"model": "constant", "window": 20}),
    "stream drift": (StreamingTree, {"model": "linear", "window": 20, "drift": True}),
    "stream class": (StreamingTree, {"model": "class", "window": 20, "classes": ABC}),
} | {f"tree {name}, R": (DynamicTree, options(name)) for name in MODELS} | {
    f"stream {name}, R": (StreamingTree, options(name, window=20))
    for name in ("constant", "augmented", "class")
}  # fmt: skip


class TestTrees(OnlineModelChecks):
    """Trees and streams of every leaf model, under both rules."""

    @pytest.fixture(params=TREES)
    def kind(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    @pytest.fixture
    def fresh(self, kind: str) -> Callable[[], Any]:
        model, options = TREES[kind]
        return lambda: model(**options, **SMALL)

    @pytest.fixture
    def rows(self, kind: str) -> Rows:
        return data("class" if "class" in kind else "constant", 45)


MEMORIES = [{"window": 20}, {"window": 12, "forget": 0.9}]
AVERAGES: dict[str, dict[str, Any]] = {
    "constant": {"model": "constant"},
    "linear, own members": {"model": "linear", "members": MEMORIES},
    "class": {"model": "class", "classes": ABC},
    "class, two labels": {"model": "class", "classes": ("a", "b")},
}


class TestAverages(OnlineModelChecks):
    """Averages of streams, with and without a stacker."""

    @pytest.fixture(params=AVERAGES)
    def kind(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    @pytest.fixture
    def fresh(self, kind: str) -> Callable[[], Any]:
        return lambda: AveragedStream(**AVERAGES[kind], **SMALL)

    @pytest.fixture
    def rows(self, kind: str) -> Rows:
        X, y = data("class" if "class" in kind else "constant", 45)
        return X, np.where(y == "c", "b", y) if "two" in kind else y


class TestAveragedTrees(OnlineModelChecks):
    """Clouds that learn rows in one order; a call is all or nothing."""

    @pytest.fixture(params=["constant", "class"])
    def kind(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    @pytest.fixture
    def fresh(self, kind: str) -> Callable[[], Any]:
        known = {"classes": ABC} if kind == "class" else {}
        return lambda: AveragedTrees(kind, n_clouds=3, shuffle=False, **known, **SMALL)

    @pytest.fixture
    def rows(self, kind: str) -> Rows:
        return data(kind, 45)

    def test_an_error_of_the_callers_leaves_complete_rows(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        """Of none of the call's: clouds that took other orders have none in common."""

        def stop(done: int, total: int) -> None:
            raise ZeroDivisionError

        X, y = rows
        model = fresh().update(X[:25], y[:25])
        with same_bytes(model), pytest.raises(ZeroDivisionError):
            model.update(X[25:], y[25:], progress=stop)

    @pytest.mark.parametrize("progress", [True, False, None])
    def test_a_bar_is_shown_only_where_asked_and_changes_nothing(
        self,
        progress: bool | None,
        fresh: Callable[[], Any],
        rows: Rows,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        """It runs over the rows of all clouds."""
        X, y = rows
        model = fresh().update(X, y, progress=progress)
        out, err = capfd.readouterr()
        assert out == ""
        assert (f"{3 * len(y)}/{3 * len(y)}" in err) == (progress is True)
        assert model_bytes(model) == model_bytes(fresh().update(X, y))


MIXTURES: dict[str, Callable[[], Any]] = {
    "gmm": lambda: OnlineDPGMM(3.0, check_every=7, min_weight=2),
    "gmm auto": lambda: OnlineDPGMM(warm_up=20, check_every=7),
    "gmm objective": lambda: OnlineDPGMM(3.0, criterion="objective", check_every=7),
    "gmm forgets": lambda: OnlineDPGMM(
        3.0, forget=0.05, patience=6, min_weight=2, check_every=5
    ),
    "gmm few": lambda: OnlineDPGMM(0.1, max_clusters=3, min_weight=1, check_every=9),
    "mppca": lambda: OnlineDPMPPCA(3.0, noise=0.5, check_every=7, min_weight=2),
    "mppca auto": lambda: OnlineDPMPPCA(warm_up=20, check_every=7),
    "mppca thin": lambda: OnlineDPMPPCA(
        3.0, noise=0.5, subspace="incremental", forget=0.02, check_every=9
    ),
    "hsmm": lambda: OnlineHDPHSMM(3.0, noise=0.5, check_every=7, min_weight=2),
    "hsmm durations": lambda: OnlineHDPHSMM(
        2.0, noise=0.5, lambda_4=0.5, duration="negative-binomial", min_weight=1
    ),
    "hsmm round": lambda: OnlineHDPHSMM(
        3.0, noise=0.5, emission="gmm", lambda_4=0.5, min_weight=2, patience=9
    ),
}


class TestMixtures(OnlineModelChecks):
    """Small-variance mixtures: no responses, and no rows are no error."""

    empty_is_an_error = False

    @pytest.fixture(params=MIXTURES)
    def fresh(self, request: pytest.FixtureRequest) -> Callable[[], Any]:
        return MIXTURES[request.param]

    @pytest.fixture
    def rows(self) -> Rows:
        rng = np.random.default_rng(4)
        X = rng.normal(size=(60, 3))
        X[:, 1:] += 5.0 * rng.integers(2, size=(60, 2))
        return X, None


LARGE: dict[str, dict[str, Any]] = {
    "esca": {"inference": "esca"},
    "em": {"inference": "em", "family": "full"},
    "canopy2": {"inference": "canopy2", "options": CanopyOptions(group_size=4)},
}


class TestLargeMixtures(OnlineModelChecks):
    """Canopy learns a stream batch by batch; rows in between wait."""

    @pytest.fixture(params=LARGE)
    def fresh(self, request: pytest.FixtureRequest) -> Callable[[], Any]:
        options = {"batch_size": 12, "max_iter": 5, "tol": 0.0, "seed": 3}
        return lambda: Canopy(3, **options, **LARGE[request.param])

    @pytest.fixture
    def rows(self) -> Rows:
        rng = np.random.default_rng(4)
        X = rng.normal(size=(60, 3))
        X[:, 1:] += 5.0 * rng.integers(2, size=(60, 2))
        return X, None


@pytest.mark.parametrize("value", [3, None, DynamicTree, object(), np.ones(3)])
def test_what_is_no_model_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"models\['a'\] must be a model that learns"):
        check_online_model("models['a']", value)


def test_a_record_of_the_protocol_alone_is_enough() -> None:
    """A model that is no tree, and knows none, is one if it has the names."""
    names = {"seed", *(name for name in dir(DynamicTree) if not name.startswith("_"))}
    named = type("Mixture", (), dict.fromkeys(names, 1))
    assert isinstance(named(), OnlineModel)
    check_online_model("model", named())
