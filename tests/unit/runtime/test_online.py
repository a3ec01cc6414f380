"""All models meet the contract; what is no model is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
    checkpoint,
)
from dyntree.mixtures import (
    AffineFlow,
    Canopy,
    CanopyOptions,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    Multinomial,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
)
from dyntree.runtime.online import OnlineModel, check_online_model
from tests.contract import OnlineModelChecks, Rows
from tests.helpers import model_bytes
from tests.unit.models import MODELS, RETIRING, data

SMALL: dict[str, Any] = {"n_particles": 12, "seed": 1}
ABC = ("a", "b", "c")
RANDOM: dict[str, Any] = {
    "window": 20, "discard": "random", "rejuvenate_every": 9, "forget": 0.95,
}  # fmt: skip


def options(name: str, **more: Any) -> dict[str, Any]:
    """Those of R's rules for leaves of that name, which name all labels."""
    return MODELS[name] | more | ({"classes": ABC} if name == "class" else {})


TREES: dict[str, tuple[type, dict[str, Any]]] = {
    "tree constant": (DynamicTree, {"model": "constant"}),
    "tree linear": (DynamicTree, {"model": "linear"}),
    "tree class": (DynamicTree, {"model": "class", "classes": ABC}),
    "tree prior": (DynamicTree, {"model": "prior"}),
    "tree negbin": (DynamicTree, {"model": "negbin"}),
    "tree logit": (DynamicTree, {"model": "logit", "classes": ABC[:2]}),
    "stream logit": (StreamingTree, {"model": "logit", "window": 20, "forget": 0.9,
                                     "rejuvenate_every": 15, "classes": ABC[:2]}),
    "stream poisson": (StreamingTree, {"model": "poisson", "window": 20}),
    "stream constant": (StreamingTree, {"model": "constant", "window": 20}),
    "stream drift": (StreamingTree, {"model": "linear", "window": 20, "drift": True}),
    "stream class": (StreamingTree, {"model": "class", "window": 20, "classes": ABC}),
} | {f"tree {name}, R": (DynamicTree, options(name)) for name in MODELS} | {
    f"stream {name}, R": (StreamingTree, options(name, window=20))
    for name in ("constant", "augmented", "class")
} | {f"stream {name} random, R": (StreamingTree, options(name, **RANDOM))
     for name in RETIRING}  # fmt: skip


def response_of(kind: str) -> str:
    """What `data` is to give a model of that name."""
    if "negbin" in kind or "poisson" in kind:
        return "count"
    return "class" if "class" in kind or "logit" in kind else "constant"


class TestTrees(OnlineModelChecks):
    """Trees and streams of every leaf model, under both rules."""

    empty_is_previewed = False

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
        X, y = data(response_of(kind), 45)
        return X, np.where(y == "c", "b", y) if "logit" in kind else y


MEMORIES = [{"window": 20}, {"window": 12, "forget": 0.9}]
AVERAGES: dict[str, dict[str, Any]] = {
    "mixed": {"members": "fast"},
    "constant": {"model": "constant"},
    "linear, own members": {"model": "linear", "members": MEMORIES},
    "negbin": {"model": "negbin"},
    "class": {"model": "class", "classes": ABC},
    "class, two labels": {"model": "class", "classes": ("a", "b")},
    "class, two labels, logistic": {
        "classes": ("a", "b"),
        "members": [*MEMORIES, {"window": 20, "model": "logit"}],
    },
    "constant, forests": {"model": "constant", "members": [*MEMORIES, {"n_trees": 3}]},
    "class, forests": {
        "model": "class",
        "classes": ABC,
        "members": [*MEMORIES, {"n_trees": 3}, {"n_trees": 4, "discount": 0.95}],
    },
}


class TestAverages(OnlineModelChecks):
    """Averages of streams, with and without a stacker."""

    empty_is_previewed = False

    @pytest.fixture(params=AVERAGES)
    def kind(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    @pytest.fixture
    def fresh(self, kind: str) -> Callable[[], Any]:
        return lambda: AveragedStream(**AVERAGES[kind], **SMALL)

    @pytest.fixture
    def rows(self, kind: str) -> Rows:
        X, y = data(response_of(kind), 45)
        return X, np.where(y == "c", "b", y) if "two" in kind else y


FORESTS: dict[str, dict[str, Any]] = {
    "class": {"classes": ABC},
    "class, fading": {"classes": ABC, "discount": 0.9, "min_split": 4, "window": 16},
    "class, few nodes": {"classes": ABC, "max_nodes": 5, "min_split": 2},
    "constant": {"model": "constant"},
    "constant, fading": {"model": "constant", "discount": 0.95, "window": 20},
}


class TestForests(OnlineModelChecks):
    """Random trees of which all prunings are averaged."""

    empty_is_previewed = False

    @pytest.fixture(params=FORESTS)
    def kind(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    @pytest.fixture
    def fresh(self, kind: str) -> Callable[[], Any]:
        return lambda: RandomTreesStream(**FORESTS[kind], n_trees=4, seed=1)

    @pytest.fixture
    def rows(self, kind: str) -> Rows:
        return data("class" if "class" in kind else "constant", 45)


class TestLinearStream(OnlineModelChecks):
    """Regressions of labels."""

    empty_is_previewed = False

    @pytest.fixture
    def fresh(self) -> Callable[[], Any]:
        return lambda: LinearStream(classes=("a", "b", "c"), seed=1)

    @pytest.fixture
    def rows(self) -> Rows:
        return data("class", 45)


class TestAveragedTrees(OnlineModelChecks):
    """Clouds that learn rows in one order."""

    empty_is_previewed = False

    @staticmethod
    def passes_of(model: Any) -> int:
        return len(model.members)  # clouds, and forests beside them

    @pytest.fixture(params=["mixed", "constant", "class", "negbin"])
    def kind(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    @pytest.fixture
    def fresh(self, kind: str) -> Callable[[], Any]:
        known = {"classes": ABC} if kind == "class" else {}
        return lambda: AveragedTrees(kind, n_clouds=3, shuffle=False, **known, **SMALL)

    @pytest.fixture
    def rows(self, kind: str) -> Rows:
        return data(response_of(kind), 45)

    def test_clouds_that_take_rows_as_they_come_may_be_cut_anywhere(
        self, kind: str, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        X, y = rows
        cut = fresh().update(X[:25], y[:25]).update(X[25:], y[25:])
        whole = fresh().update(X, y)
        for one, other in zip(cut.members, whole.members, strict=True):
            assert model_bytes(one) == model_bytes(other)
        if len(whole.shares) == 1:  # more are those of a call with 40 rows at least
            assert model_bytes(cut) == model_bytes(whole)


MIXTURES: dict[str, Callable[[], Any]] = {
    "gmm": lambda: OnlineDPGMM(3.0, check_every=7, min_weight=2),
    "gmm auto": lambda: OnlineDPGMM(warm_up=20, check_every=7),
    "gmm objective": lambda: OnlineDPGMM(3.0, criterion="objective", check_every=7),
    "gmm forgets": lambda: OnlineDPGMM(
        3.0, forget=0.95, patience=6, min_weight=2, check_every=5
    ),
    "gmm few": lambda: OnlineDPGMM(0.1, max_clusters=3, min_weight=1, check_every=9),
    "mppca": lambda: OnlineDPMPPCA(3.0, noise=0.5, check_every=7, min_weight=2),
    "mppca auto": lambda: OnlineDPMPPCA(warm_up=20, check_every=7),
    "mppca thin": lambda: OnlineDPMPPCA(
        3.0, noise=0.5, subspace="incremental", forget=0.98, check_every=9
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

    @pytest.fixture(params=MIXTURES)
    def fresh(self, request: pytest.FixtureRequest) -> Callable[[], Any]:
        return MIXTURES[request.param]

    @pytest.fixture
    def rows(self) -> Rows:
        rng = np.random.default_rng(4)
        X = rng.normal(size=(60, 3))
        X[:, 1:] += 5.0 * rng.integers(2, size=(60, 2))
        return X, None


SWEEPS: dict[str, Any] = {"n_sweeps": 6, "burn_in": 2, "history": 4, "seed": 1}
DEPENDENT: dict[str, Callable[[], Any]] = {
    "known": lambda: DependentDPMixture(GaussianKnownVariance(1.0), **SWEEPS),
    "counts": lambda: DependentDPMixture(
        GaussianKnownVariance(1.0), weights="counts", count_memory=0.9, **SWEEPS
    ),
    "uncollapsed": lambda: DependentDPMixture(
        GaussianKnownVariance([1.0, 2.0, 1.0]), sampler="uncollapsed", base="moved",
        **SWEEPS,
    ),
    "unknown": lambda: DependentDPMixture(
        GaussianUnknown(), n_chains=3, weight_memory=0.5, **SWEEPS
    ),
}  # fmt: skip


class TestDependentMixtures(OnlineModelChecks):
    """Dependent mixtures, whose unit is a phase: a call is one, unless it says more."""

    @pytest.fixture(params=DEPENDENT)
    def fresh(self, request: pytest.FixtureRequest) -> Callable[[], Any]:
        return DEPENDENT[request.param]

    @pytest.fixture
    def rows(self) -> Rows:
        rng = np.random.default_rng(4)
        X = rng.normal(size=(45, 3))
        X[:, 1:] += 9.0 * rng.integers(2, size=(45, 2))
        return X, None

    def test_a_phase_without_rows_lets_time_pass(self, learned: Any) -> None:
        n = learned.n_phases
        learned.update(np.empty((0, 3)))
        assert (learned.n_seen, learned.n_phases) == (25, n + 1)


class TestOtherDependentMixtures:
    """Families whose rows are not those of the contract."""

    @pytest.mark.parametrize("family", [AffineFlow(), Multinomial(0.5)])
    @pytest.mark.parametrize("sampler", ["collapsed", "uncollapsed"])
    def test_a_checkpoint_in_mid_stream_is_as_none(
        self, family: Any, sampler: str
    ) -> None:
        X = np.random.default_rng(1).poisson(2.0, size=(40, 4)).astype(float)
        model = DependentDPMixture(family, sampler=sampler, **SWEEPS)
        model.update(X, phases=np.arange(40) // 10)
        back = checkpoint.loads(checkpoint.dumps(model))
        assert model_bytes(back) == model_bytes(model)
        model.update(X[:20])
        back.update(X[:20])
        assert model_bytes(back) == model_bytes(model)


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
