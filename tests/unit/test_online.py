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
    StreamingTree,
    checkpoint,
)
from dyntree.encoding.feature_map import take
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
from dyntree.online import OnlineModel, check_online_model
from tests.contract import OnlineModelChecks, Rows
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import MODELS, data

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
        X, y = data("class" if "class" in kind else "constant", 45)
        return X, np.where(y == "c", "b", y) if "two" in kind else y


class TestAveragedTrees(OnlineModelChecks):
    """Clouds that learn rows in one order; a call is all or nothing."""

    empty_is_previewed = False

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

    def test_how_a_stream_is_cut_into_calls_does_not_matter(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        """As long as phases are the same."""
        X, _ = rows
        phases = np.repeat([3, 5, 9], 15)
        whole, apart, some = fresh().update(X, phases=phases), fresh(), fresh()
        for label in (3, 5, 9):
            apart.update(X[phases == label])
        some.update(X[:30], phases=phases[:30]).update(X[30:], phases=phases[30:])
        assert model_bytes(apart) == model_bytes(whole) == model_bytes(some)
        assert model_bytes(fresh().update(X)) != model_bytes(whole)

    def test_columns_are_matched_by_name(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        import pandas as pd

        frame = pd.DataFrame(rows[0], columns=["b", "a", "d"])
        turned = frame[["a", "b", "d"]]
        plain = fresh().update(frame[:25]).update(frame[25:])
        model = fresh().update(frame[:25]).update(turned[25:])
        assert model.columns == ("b", "a", "d")
        assert model_bytes(model) == model_bytes(plain)
        assert (model.predict(turned) == model.predict(frame)).all()
        with same_bytes(model), pytest.raises(ValueError, match="X must have"):
            model.update(frame.rename(columns={"b": "z"}))

    def test_a_call_that_raises_changes_nothing(self, learned: Any, rows: Rows) -> None:
        X, _ = rows
        bad = X[:5].copy()
        bad[3, 0] = np.inf
        for given in (bad, X[:5, :-1], X[0], [["text"] * 3]):
            with same_bytes(learned), pytest.raises(ValueError, match=r"\bX\b"):
                learned.update(given)
            with same_bytes(learned), pytest.raises(ValueError, match=r"\bX\b"):
                learned.predict(given)
        with same_bytes(learned), pytest.raises(ValueError, match="progress"):
            learned.update(X[:5], progress="loud")
        n = learned.n_phases
        learned.update(X[:0])  # time passes
        assert (learned.n_seen, learned.n_phases) == (25, n + 1)

    def test_an_error_of_the_callers_leaves_complete_rows(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        """Complete phases, which are the unit."""

        def stop(done: int, total: int) -> None:
            if done > 15:
                raise ZeroDivisionError

        X, _ = rows
        model = fresh()
        with pytest.raises(ZeroDivisionError):
            model.update(X, phases=np.repeat([0, 1, 2], 15), progress=stop)
        assert model_bytes(model) == model_bytes(fresh().update(X[:15]))

    def test_what_is_previewed_can_be_foreseen_and_learned(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        X, _ = rows
        model = fresh()
        encoded, responses = model.preview(X)
        assert (model.n_seen, len(responses)) == (0, len(X))
        model.update(X[:25])
        ahead = take(encoded, slice(25, None))
        assert (model.predict(ahead) == model.predict(X[25:])).all()
        model.update(ahead)
        assert model_bytes(model) == model_bytes(fresh().update(X[:25]).update(X[25:]))


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
