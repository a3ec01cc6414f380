"""Any sequence of calls leaves the core where it leaves the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from dyntree._core.rng import RSource
from dyntree._core.trees import criteria, query
from dyntree._core.trees.cloud import Cloud
from tests import helpers
from tests.oracle import criteria as oracle_criteria
from tests.oracle import query as oracle_query
from tests.oracle.cloud import Cloud as OracleCloud
from tests.oracle.stream import RSource as OracleSource
from tests.probes import audit

LEVELS = (0.1, 0.3, 0.7)  # neither they nor their means are exact in binary
RESPONSES = (0.0, 1.0, -1.0, 10.0)
MOST_ROWS, MOST_CLOUDS, WIDEST = 60, 3, 3

seeds = st.integers(0, 2**32 - 1)
level_rows = st.tuples(*[st.sampled_from(LEVELS)] * WIDEST, st.sampled_from(RESPONSES))


@st.composite
def cloud_options(draw: Any) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(helpers.MODELS)))
    m = draw(st.integers(2 if name == "augmented" else 1, WIDEST))
    options = {
        "n_features": m,
        "n_particles": draw(st.sampled_from([1, 2, 3, 5, 7, 10, 20])),
        "min_leaf": draw(st.integers(1, 4)),
        "proposal": draw(st.sampled_from(["luvar", "luall", "reject"])),
        "tree_prior": draw(st.sampled_from([(0.95, 2.0), (0.99, 0.1), (0.0, 1.0)])),
    }
    if name != "class":
        options["variance_prior"] = draw(st.sampled_from([(0.0, 0.0), (2.0, 0.5)]))
    if "linear" in helpers.MODELS[name].values():
        options["n_basis"] = draw(st.integers(1, m))
    elif m > 1:
        options["first_split"] = draw(st.integers(0, 1))
    return name, options


def burst(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that make trees grow, and others that make them regret it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, WIDEST))
    if kind in ("ties", "constant", "repeated"):
        X = rng.choice(LEVELS, size=(n, WIDEST))
    if kind == "constant":
        X[:, rng.integers(WIDEST)] = 0.3
    if kind == "neighbours":  # a proposal between them may round to the upper one
        X[:] = rng.choice([0.3, np.nextafter(0.3, 1.0)], size=(n, WIDEST))
    if kind == "repeated":
        X[:] = X[0]
    if kind == "scales":  # centring rounds the small ones off
        X = np.exp(12.0 * X)
    step = 4.0 * (X[:, 0] > 0.4) + 0.2 * rng.normal(size=n)
    if kind == "flip":
        step = -step
    if kind == "level":
        step = 100.0 + rng.normal(size=n)
    if kind == "exact":
        step = X @ [1.0, 2.0, -1.0]
    return X, step


SMOOTH = ("step", "flip", "level", "exact")
COARSE = ("ties", "constant", "neighbours", "repeated", "scales")


class CloudMachine(RuleBasedStateMachine):
    """The same calls on both sides; `kept` is a cloud that was copied and left."""

    @initialize(made=cloud_options(), seed=seeds, data=seeds, n=st.integers(2, 8))
    def start(self, made: Any, seed: int, data: int, n: int) -> None:
        self.name, options = made
        options = helpers.options_of(self.name, **options)
        self.core = Cloud(RSource(seed), **options)
        self.oracle = OracleCloud(OracleSource(seed), **options)
        self.kept: tuple[Cloud, Any] | None = None
        X, y = self.fitting(*burst("ties" if data % 2 else "step", n, data))
        self.core.start(X, y)
        self.oracle.start(X, y)

    def fitting(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows as this cloud takes them."""
        X = np.ascontiguousarray(X[:, : self.core.n_features])
        if self.name == "augmented":
            X[:, 0] = 1.0
        if self.name == "class":
            y = np.digitize(y, (0.5, 3.0)).astype(np.float64)
        return X, np.ascontiguousarray(y)

    def update(self, X: np.ndarray, y: np.ndarray, every: int) -> None:
        X, y = self.fitting(X, y)
        seen, expected = [], []
        got = self.core.update(X, y, every, lambda *line: seen.append(line))
        want = self.oracle.update(X, y, every, lambda *line: expected.append(line))
        helpers.assert_close(got, want, "log predictive densities")
        assert [line[:4] for line in seen] == [line[:4] for line in expected]
        helpers.assert_close(seen, expected, "progress")

    @precondition(lambda self: self.core.n_active < MOST_ROWS)
    @rule(rows=st.lists(level_rows, min_size=1, max_size=6), every=st.integers(0, 3))
    def update_levels(self, rows: list, every: int) -> None:
        table = np.array(rows)
        self.update(table[:, :WIDEST], table[:, WIDEST], every)

    @precondition(lambda self: self.core.n_active < MOST_ROWS)
    @rule(kind=st.sampled_from(SMOOTH + COARSE), n=st.integers(1, 20), seed=seeds)
    def update_burst(self, kind: str, n: int, seed: int) -> None:
        self.update(*burst(kind, n, seed), every=0)

    @precondition(lambda self: self.core.n_active < MOST_ROWS)
    @rule(seed=seeds, shift=st.sampled_from([0.0, 1.0, -20.0]))
    def update_again(self, seed: int, shift: float) -> None:
        """Rows that are held already, with responses at a new level."""
        X, y = self.core.rows()
        chosen = np.random.default_rng(seed).integers(len(y), size=4)
        y = np.mod(y + shift, 3.0) if self.name == "class" else y + shift
        X, y = X[chosen], y[chosen]
        helpers.assert_close(self.core.update(X, y), self.oracle.update(X, y))

    @precondition(lambda self: self.name != "implicit" and self.core.n_active > 1)
    @rule(
        share=st.floats(0.0, 1.0),
        seed=seeds,
        forget=st.just(1.0) | st.floats(0.01, 1.0) | st.just(0.1),
    )
    def retire(self, share: float, seed: int, forget: float) -> None:
        n = self.core.n_active
        places = np.random.default_rng(seed).permutation(n)[: int(share * (n - 1)) + 1]
        places = places[: n - 1]
        self.core.retire(places, forget)
        self.oracle.retire(places, forget)

    @precondition(lambda self: self.core.n_active > 1)
    @precondition(lambda self: self.core.n_particles < MOST_CLOUDS * self.core.n_target)
    @rule(seed=seeds)
    def rejuvenate(self, seed: int) -> None:
        order = np.random.default_rng(seed).permutation(self.core.n_active)
        self.core.rejuvenate(order)
        self.oracle.rejuvenate(order)

    @rule()
    def copy(self) -> None:
        """Go on with copies; what was copied must stay as it is."""
        self.check_kept()
        core = self.core.copy(self.core.source.copy())
        assert helpers.model_bytes(core) == helpers.model_bytes(self.core)
        self.kept = self.core, helpers.model_bytes(self.core)
        self.core = core
        self.oracle = self.oracle.copy(self.oracle.source.copy())

    @rule()
    def save_and_load(self) -> None:
        before = helpers.model_bytes(self.core)
        self.core = Cloud.from_arrays(*self.core.to_arrays(), self.core.source)
        assert helpers.model_bytes(self.core) == before

    @rule(seed=seeds)
    def predict(self, seed: int) -> None:
        n = 7
        X, y = self.fitting(*burst("ties" if seed % 2 else "step", n, seed))
        got = query.predict(self.core, X, y, quantiles=True, improvement=True)
        want = oracle_query.predict(self.oracle, X, y, quantiles=True, improvement=True)
        assert got.keys() == want.keys()
        for field, values in want.items():
            helpers.assert_close(got[field], values, field)

    @rule(approx=st.booleans(), width=st.sampled_from([0.5, 1.0]))
    def credit_active_rows(self, approx: bool, width: float) -> None:
        """Fills the caches of the leaves, and rounds rows of implicit ones."""
        if self.name == "class":
            got = criteria.entropy_active(self.core)
            want = oracle_criteria.entropy_active(self.oracle)
        else:
            m = self.core.n_features
            box = np.zeros(m), np.full(m, width), np.zeros(m, dtype=bool), approx
            got = criteria.alc_active(self.core, *box)
            want = oracle_criteria.alc_active(self.oracle, *box)
        helpers.assert_close(got, want, "credit")

    @rule(seed=seeds)
    def look(self, seed: int) -> None:
        """Counts, and criteria at few points that lie where rows do."""
        X, _ = self.fitting(*burst("ties" if seed % 2 else "step", 5, seed))
        asked = [(query, oracle_query, "split_counts", ())]
        asked += [(query, oracle_query, "sameleaf", (X,))]
        regression = {
            "alc_reference": (X, X[:3]),
            "ieci": (X, X[:3]),
            "alc_rectangle": (X, *self.box(bool(seed % 3)), bool(seed % 5)),
            "q_entropy": (X, 1.0),
            "q_improvement": (X, 1.0, 2.0),
        }
        if self.name != "class":
            for name, arguments in regression.items():
                asked += [(criteria, oracle_criteria, name, arguments)]
        for ours, theirs, name, arguments in asked:
            got = getattr(ours, name)(self.core, *arguments)
            with np.errstate(all="ignore"):  # singular leaves: infinities and NaN
                want = getattr(theirs, name)(self.oracle, *arguments)
            helpers.assert_close(got, want, name)

    def box(self, categorical: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The unit cube; its last column may be categorical."""
        m = self.core.n_features
        flags = np.zeros(m, dtype=bool)
        flags[m - 1] = categorical
        return np.zeros(m), np.ones(m), flags

    @rule(approx=st.booleans(), categorical=st.booleans())
    def relevance(self, approx: bool, categorical: bool) -> None:
        box = *self.box(categorical), approx
        got = criteria.relevance(self.core, *box)
        want, size = oracle_criteria.relevance_and_size(self.oracle, *box)
        helpers.assert_close(got, want, "relevance", size=size)

    @invariant()
    def agree(self) -> None:
        helpers.assert_same_cloud(self.core, self.oracle)
        audit(self.core)

    def check_kept(self) -> None:
        if self.kept is not None:
            assert helpers.model_bytes(self.kept[0]) == self.kept[1]
            audit(self.kept[0])

    def teardown(self) -> None:
        if hasattr(self, "core"):
            self.check_kept()


TestCloudMachine = CloudMachine.TestCase
