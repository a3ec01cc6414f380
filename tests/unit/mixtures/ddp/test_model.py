"""DependentDPMixture: what it does over phases, whatever chance says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from dyntree import checkpoint
from dyntree.datasets import EvolvingRows, evolving_gaussians
from dyntree.errors import NotReadyError
from dyntree.mixtures import (
    DependentDPMixture,
    Discount,
    GaussianKnownVariance,
    GaussianUnknown,
    Multinomial,
    RandomWalk,
    variation_of_information,
)
from dyntree.mixtures.ddp import merging
from tests.helpers import model_bytes

BASE = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=49.0)
TRUTH: dict[str, Any] = {
    "concentration": 0.8, "survival": 0.975, "innovation": 0.02,
    "transition": RandomWalk(0.1),
}  # fmt: skip
QUICK: dict[str, Any] = {"n_sweeps": 12, "burn_in": 4}


@pytest.fixture(scope="module")
def data() -> EvolvingRows:
    return evolving_gaussians(25, 40, seed=3)


@pytest.fixture(scope="module")
def model(data: EvolvingRows) -> DependentDPMixture:
    made = DependentDPMixture(BASE, **TRUTH, **QUICK)
    for rows in data.phases:
        made.update(rows)
    return made


# ---------------------------------------------------------------- following
def test_clusters_are_followed_from_phase_to_phase(
    model: DependentDPMixture, data: EvolvingRows
) -> None:
    found = np.concatenate([model.labels(t) for t in range(len(data))])
    truth = np.concatenate(data.labels)
    assert variation_of_information(found, truth) < 0.3
    assert model.n_phases == len(data)
    assert model.n_seen == len(truth)


def test_lifelines_count_the_labels(
    model: DependentDPMixture, data: EvolvingRows
) -> None:
    lines = model.lifelines()
    assert lines.count.shape == (len(lines), len(data))
    assert lines.count.sum(axis=0).tolist() == [len(rows) for rows in data.phases]
    for t in range(len(data)):
        ids, counts = np.unique(model.labels(t), return_counts=True)
        at = np.searchsorted(lines.id, ids)
        assert lines.count[at, t].tolist() == counts.tolist()


def test_particles_tell_what_they_are(
    model: DependentDPMixture, data: EvolvingRows
) -> None:
    table, lines = model.particles(), model.lifelines()
    assert (np.diff(table.id) > 0).all()
    assert ((table.alive > 0.0) & (table.alive <= 1.0)).all()
    assert (table.alive[table.last_seen == len(data) - 1] == 1.0).all()
    at = np.searchsorted(lines.id, table.id)
    assert table.count.tolist() == lines.count[at].sum(axis=1).tolist()
    first = [int(np.flatnonzero(row)[0]) for row in lines.count[at]]
    assert table.born.tolist() == first
    np.testing.assert_allclose(table.weight_mean, table.count / table.exposure)
    for mean in data.means[-1]:
        assert np.linalg.norm(table.mean - mean, axis=1).min() < 1.0
    with pytest.raises(ValueError, match="read-only"):
        table.alive[0] = 0.5


def test_a_row_goes_to_its_particle(
    model: DependentDPMixture, data: EvolvingRows
) -> None:
    rows = data.phases[-1]
    assert variation_of_information(model.predict(rows), model.labels_) < 0.05
    proba = model.predict_proba(rows)
    assert proba.shape == (len(rows), len(model.particles()))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    ids = model.particles().id
    assert (ids[proba.argmax(axis=1)] == model.predict(rows)).all()


def test_the_predictive_density_is_one(model: DependentDPMixture) -> None:
    """Over a grid that holds all of it, now and three phases ahead."""
    side = np.linspace(-60.0, 60.0, 241)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for ahead in (0, 3):
        total = np.exp(model.log_predictive(grid, ahead=ahead)).sum() * 0.25
        np.testing.assert_allclose(total, 1.0, rtol=1e-6)
    assert (model.score_samples(grid[:9]) == model.log_predictive(grid[:9])).all()


def test_samples_are_of_the_predictive_density(model: DependentDPMixture) -> None:
    """The ratio of two densities has mean 1 under the second; false alarms 4e-8."""
    drawn, labels = model.sample(20000, ahead=1, seed=5)
    assert drawn.shape == (20000, 2)
    assert {*labels.tolist()} <= {-1, *model.particles().id.tolist()}
    ratio = np.exp(model.log_predictive(drawn) - model.log_predictive(drawn, ahead=1))
    assert abs(ratio.mean() - 1.0) < 5.5 * ratio.std() / np.sqrt(len(ratio))
    assert (model.sample(3, seed=1)[0] == model.sample(3, seed=1)[0]).all()
    assert model.sample(0)[0].shape == (0, 2)


def test_a_forecast_fades_and_widens(model: DependentDPMixture) -> None:
    ahead = model.forecast(4)
    n = len(model.particles())
    assert ahead.alive.shape == ahead.share.shape == (4, n)
    sure = model.particles().alive == 1.0
    expected = 0.975 ** np.arange(1, 5)
    np.testing.assert_allclose(
        ahead.alive[:, sure].T, expected * np.ones((sure.sum(), 1))
    )
    np.testing.assert_allclose(ahead.share.sum(axis=1) + ahead.new_share, 1.0)
    assert (np.diff(ahead.new_share) > 0.0).all()
    gone = ahead.covariance[1:, sure] - ahead.covariance[:-1, sure]
    np.testing.assert_allclose(gone, 0.1 * np.eye(2) * np.ones(gone.shape), atol=1e-9)


def test_an_order_of_rows_that_is_turned_finds_the_same(data: EvolvingRows) -> None:
    """In law; here the clusters are far enough apart for it to hold outright."""
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    phases = [
        np.repeat(centres, 30, axis=0) + rng.normal(size=(90, 2)) for _ in range(3)
    ]
    turn = rng.permutation(90)
    straight = DependentDPMixture(BASE, **QUICK)
    turned = DependentDPMixture(BASE, **QUICK)
    for rows in phases:
        straight.update(rows)
        turned.update(rows[turn])
        assert variation_of_information(straight.labels_[turn], turned.labels_) == 0.0


# ---------------------------------------------------------------- edges
def test_a_phase_without_rows_lets_time_pass(model: DependentDPMixture) -> None:
    other, before = model.copy(), model.particles()
    other.update(np.empty((0, 2)))
    after = other.particles()
    assert other.n_phases == model.n_phases + 1
    assert other.labels_.tolist() == []
    np.testing.assert_allclose(after.alive, 0.975 * before.alive)
    assert after.exposure.tolist() == before.exposure.tolist()
    np.testing.assert_allclose(
        after.covariance, before.covariance + 0.1 * np.eye(2), rtol=1e-12
    )


def test_phases_without_rows_may_come_first() -> None:
    model = DependentDPMixture(BASE, **QUICK)
    model.update([]).update(np.empty((0, 2)))
    assert (model.n_phases, model.is_ready) == (2, False)
    model.update([[1.0, 2.0]])
    assert model.labels_.tolist() == [0]
    assert model.lifelines().count.tolist() == [[0, 0, 1]]


def test_one_row_and_equal_rows() -> None:
    model = DependentDPMixture(GaussianKnownVariance(1.0), **QUICK)
    model.update([[1.0, 2.0]]).update(np.ones((30, 2)))
    assert len(np.unique(model.labels_)) == 1
    unknown = DependentDPMixture(GaussianUnknown(), **QUICK).update(np.ones((30, 2)))
    assert np.isfinite(unknown.log_predictive([[1.0, 1.0]])).all()


def test_a_particle_that_nobody_chooses_for_long_is_gone() -> None:
    rng = np.random.default_rng(1)
    model = DependentDPMixture(BASE, survival=0.9, **QUICK)
    model.update(rng.normal(size=(40, 2)) + np.array([30.0, 0.0]))
    for t in range(200):
        if t == 3:
            assert model.particles().id.tolist() == [0, 1]
        model.update(rng.normal(size=(5, 2)))
    assert 0 not in model.particles().id
    with pytest.raises(
        ValueError, match="id must be of a particle seen in the last 50"
    ):
        model.trajectory(0)
    assert model.lifelines().count[0, 0] == 40
    assert len(model._state.history.owner) <= 60


def test_without_survival_phases_know_nothing_of_one_another() -> None:
    rng = np.random.default_rng(1)
    model = DependentDPMixture(BASE, survival=0.0, **QUICK)
    seen: set[int] = set()
    for _ in range(4):
        model.update(rng.normal(size=(30, 2)))
        labels = set(model.labels_.tolist())
        assert not labels & seen
        seen |= labels
        assert model.particles().id.tolist() == sorted(labels)


def test_survival_can_depend_on_the_place() -> None:
    """Those on the left die at once."""
    rng = np.random.default_rng(1)
    model = DependentDPMixture(
        BASE, survival=lambda means: (means[:, 0] > 0.0) * 1.0, innovation=0.1, **QUICK
    )
    centres = np.array([[-20.0, 0.0], [20.0, 0.0]])
    ids = []
    for _ in range(3):
        model.update(np.repeat(centres, 20, axis=0) + rng.normal(size=(40, 2)))
        ids.append((model.labels_[0], model.labels_[-1]))
    left, right = zip(*ids, strict=True)
    assert len(set(left)) == 3
    assert len(set(right)) == 1
    with pytest.raises(ValueError, match="survival must be a number to be saved"):
        model.to_arrays()
    assert model.copy().predict(centres).tolist() == model.predict(centres).tolist()


def test_weights_of_counts_grow_with_age() -> None:
    rng = np.random.default_rng(1)
    model = DependentDPMixture(BASE, weights="counts", **QUICK)
    for _ in range(3):
        model.update(rng.normal(size=(30, 2)))
    table = model.particles()
    assert table.count.sum() == 90
    assert (table.exposure == 1.0).all()
    assert (model.diagnostics().u == 0.0).all()


def test_documents_without_words_count_nothing() -> None:
    X = np.zeros((6, 4))
    X[:3, 0] = X[3:5, 2] = 5.0
    model = DependentDPMixture(Multinomial(0.1), **QUICK).update(X)
    assert model.labels_[5] == model.labels_[0]
    assert model.particles().count.tolist() == [3.0, 2.0]
    assert (model.n_seen, model.lifelines().count.sum()) == (6, 5)
    only = DependentDPMixture(Multinomial(0.1), **QUICK).update(np.zeros((2, 4)))
    assert only.labels_.tolist() == [-1, -1]


# ---------------------------------------------------------------- merging
def test_particles_that_a_phase_split_are_one_again() -> None:
    """Two halves of a cluster, put together by hand as if they had been born apart."""
    rng = np.random.default_rng(1)
    model = DependentDPMixture(BASE, history_merge=False, **TRUTH, **QUICK)
    model.update(rng.normal(size=(60, 2)))
    assert model.particles().id.tolist() == [0]
    state, family, options = model._state, model.family_, model.options
    rows = rng.normal(size=(60, 2))
    halves = family.sums(rows, np.repeat([0, 1], 30), 2)
    base = np.repeat(family.base()[None], 2, axis=0)
    p = state.particles.taken(np.array([0, 0]))
    p.id, p.m = np.array([0, 1]), halves[:, 0].copy()
    p.first, p.row = base, family.posterior(base, halves)
    empty = state.history.taken(np.empty(0, dtype=np.int64))
    split = merging.replace(
        state, particles=p, history=empty.with_more(p.id, 0, halves), next_id=2
    )
    whole = merging.merged(split, options, family)
    assert whole.aliases == {1: 0}
    assert whole.particles.m.tolist() == [60.0]
    sums = family.sums(rows, np.zeros(60, dtype=np.int64), 1)
    np.testing.assert_allclose(whole.particles.row, family.posterior(base[:1], sums))
    _, found = whole.history.of(0)
    np.testing.assert_allclose(found, sums)
    evidence = merging.Evidence(split, options, family)
    after = merging.Evidence(whole, options, family)
    np.testing.assert_allclose(evidence.together(0, 1), after.of(0), rtol=1e-12)


def test_a_merge_weighs_anew_only_the_pairs_that_it_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Documents of chance: many particles, all near one another, and many merges."""
    rng = np.random.default_rng(1)
    X = rng.multinomial(20, np.full(500, 0.002), size=100).astype(float)
    model = DependentDPMixture(
        Multinomial(0.1), concentration=50.0, history_merge=False, n_sweeps=2,
        burn_in=0,
    ).update(X)  # fmt: skip
    weighed: list[tuple[int, int]] = []
    together = merging.Evidence.together

    def counted(self: merging.Evidence, older: int, younger: int) -> float:
        weighed.append((older, younger))
        return together(self, older, younger)

    monkeypatch.setattr(merging.Evidence, "together", counted)
    n = model.n_clusters
    whole = merging.merged(model._state, model.options, model.family_)
    n_merged = len(whole.aliases)
    assert n_merged > 2
    assert len(weighed) <= n * (n - 1) / 2 + n_merged * n


def test_evidence_of_a_history_is_the_same_summed_by_phase() -> None:
    """The telescoped sum, and the one that fading weights need."""
    data = evolving_gaussians(6, 30, seed=1)
    model = DependentDPMixture(BASE, history_merge=False, **TRUTH, **QUICK)
    for rows in data.phases:
        model.update(rows)
    evidence = merging.Evidence(model._state, model.options, model.family_)
    p = model._state.particles
    for place in np.flatnonzero((p.born == 0) & (p.seen == 5)):
        phases, sums = model._state.history.of(int(p.id[place]))
        m, E = p.m[place], p.E[place]
        expected = gammaln(m) - m * np.log(E)
        np.testing.assert_allclose(evidence.faded(phases, sums), expected, rtol=1e-10)


def test_aliases_resolve_in_chains(model: DependentDPMixture) -> None:
    other = model.copy()
    state = other._state
    top = state.next_id
    other._state = merging.replace(
        state, next_id=top + 3, aliases={top + 2: top + 1, top + 1: 0}
    )
    assert other.aliases_ == {top + 2: 0, top + 1: 0}


# ---------------------------------------------------------------- memory, threads
def test_what_is_held_does_not_grow_with_phases() -> None:
    rng = np.random.default_rng(1)
    model = DependentDPMixture(BASE, history=5, **QUICK)
    sizes = []
    for _ in range(40):
        model.update(rng.normal(size=(50, 2)))
        sizes.append(model.memory_usage())
    assert sizes[-1] - sizes[10] < 30 * 100  # a line of counts a phase
    assert model.labels(35).shape == (50,)
    with pytest.raises(ValueError, match="phase must be one whose labels are stored"):
        model.labels(34)


def test_folded_histories_give_the_filter_all_the_same() -> None:
    data = evolving_gaussians(12, 30, seed=1)
    short = DependentDPMixture(BASE, history=3, history_merge=False, **TRUTH, **QUICK)
    long = DependentDPMixture(BASE, history_merge=False, **TRUTH, **QUICK)
    for rows in data.phases:
        short.update(rows)
        long.update(rows)
    assert (short.labels_ == long.labels_).all()
    for id in short.particles().id.tolist():
        if short.particles().last_seen[short.particles().id == id][0] < 9:
            continue
        one = short.trajectory(id, smooth=False)
        other = long.trajectory(id, smooth=False)
        np.testing.assert_allclose(one.mean, other.mean[-len(one) :], rtol=1e-10)


def test_the_number_of_threads_alters_nothing(
    monkeypatch: pytest.MonkeyPatch, data: EvolvingRows
) -> None:
    found = set()
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("DYNTREE_NUM_THREADS", threads)
        model = DependentDPMixture(BASE, n_chains=4, n_sweeps=6, burn_in=2)
        for rows in data.phases[:5]:
            model.update(rows)
        found.add(checkpoint.dumps(model))
    assert len(found) == 1


def test_chains_are_pooled(data: EvolvingRows) -> None:
    model = DependentDPMixture(BASE, n_chains=3, **TRUTH, **QUICK)
    for rows in data.phases[:6]:
        model.update(rows)
    truth = np.concatenate(data.labels[:6])
    found = np.concatenate([model.labels(t) for t in range(6)])
    assert variation_of_information(found, truth) < 0.3


def test_the_same_phase_twice_is_two_phases() -> None:
    X = np.random.default_rng(1).normal(size=(30, 2)) * 4.0
    one = DependentDPMixture(BASE, **QUICK).update(X)
    two = one.copy().update(X)
    assert model_bytes(one) != model_bytes(two)
    assert (one.n_phases, two.n_phases) == (1, 2)


# ---------------------------------------------------------------- settings
def test_calibration_prefers_what_made_the_rows() -> None:
    data = evolving_gaussians(15, 60, n_start=3, step_variance=0.5, seed=2)
    model = DependentDPMixture(BASE, survival=0.975, innovation=0.02, **QUICK)
    steps = [RandomWalk(v) for v in (0.005, 0.5, 50.0)]
    heard: list[int] = []
    found = model.calibrate(
        data.phases, {"transition": steps, "survival": [0.975]},
        progress=lambda done, total: heard.append(done),
    )  # fmt: skip
    assert found.best == {"transition": RandomWalk(0.5), "survival": 0.975}
    assert found.score.argmax() == 1
    assert heard[-1] == 45
    assert model.n_phases == 0


def test_fading_weights_follow_sizes_that_drift() -> None:
    """One cluster's share goes from .1 to .9: constant weights call that a new one."""
    rng = np.random.default_rng(1)
    models = {
        memory: DependentDPMixture(BASE, weight_memory=memory, **TRUTH, **QUICK)
        for memory in (1.0, 0.5)
    }
    for share in np.linspace(0.1, 0.9, 9):
        sizes = [round(200 * share), round(200 * (1.0 - share))]
        centre = np.repeat([[-9.0, 0.0], [9.0, 0.0]], sizes, axis=0)
        rows = centre + rng.normal(size=centre.shape)
        for model in models.values():
            model.update(rows)
    lines = models[0.5].lifelines()
    assert lines.count.tolist() == [
        [180, 160, 140, 120, 100, 80, 60, 40, 20],
        [20, 40, 60, 80, 100, 120, 140, 160, 180],
    ]  # fmt: skip
    assert len(models[1.0].lifelines()) > 2


def test_answers_need_a_phase() -> None:
    model = DependentDPMixture(BASE)
    questions = [
        model.particles, lambda: model.predict([[0.0]]), lambda: model.trajectory(0),
        lambda: model.log_predictive([[0.0]]), lambda: model.sample(3), model.forecast,
        lambda: model.family_,
    ]  # fmt: skip
    for ask in questions:
        with pytest.raises(NotReadyError, match="needs a phase with rows"):
            ask()
    assert model.labels_.tolist() == []
    assert len(model.lifelines()) == 0
    assert model.facts()["clusters"] == 0
    with pytest.raises(ValueError, match="has no smoother"):
        DependentDPMixture(GaussianUnknown(), **QUICK).update(
            np.random.default_rng(1).normal(size=(9, 2))
        ).trajectory(0, smooth=True)
    with pytest.raises(ValueError, match=r"velocity needs family=AffineFlow"):
        DependentDPMixture(BASE, **QUICK).update([[0.0, 1.0]]).velocity([[0.0]])
    assert Discount(0.5).delta == 0.5


@pytest.mark.filterwarnings(
    "ignore::dyntree.errors.MixingWarning", "ignore::dyntree.errors.ScaleWarning"
)
@pytest.mark.parametrize("family", [GaussianKnownVariance(1e20), GaussianUnknown()])
@pytest.mark.parametrize("sampler", ["collapsed", "uncollapsed"])
def test_rows_as_large_as_they_may_be_leave_the_model_in_order(
    family: Any, sampler: str
) -> None:
    """Squared distances that overflow: no particle has a density for such rows."""
    rng = np.random.default_rng(1)
    model = DependentDPMixture(family, sampler=sampler, **QUICK)
    model.update(rng.normal(size=(20, 2)))
    model.update(np.array([[1e150, -1e150], [0.0, 1.0], [1e-150, 1e149]] * 3))
    model.update(rng.normal(size=(20, 2)))
    assert model.n_phases == 3
    assert model.lifelines().count.sum(axis=0).tolist() == [20, 9, 20]
    assert len(np.unique(model.particles().id)) == len(model.particles())


def test_a_long_life_that_cannot_end_is_told_apart_all_the_same() -> None:
    """Survival 1 and hundreds of silent phases: its silence has probability e^-1000."""
    rng = np.random.default_rng(1)
    model = DependentDPMixture(BASE, survival=1.0, innovation=0.1, **QUICK)
    model.update(np.repeat([[-20.0, 0.0], [20.0, 0.0]], 400, axis=0))
    first = model.labels_[[0, -1]].tolist()
    for _ in range(3):
        model.update(rng.normal(size=(200, 2)) + np.array([20.0, 0.0]))
        assert set(model.labels_.tolist()) == {first[1]}
        assert np.isfinite(model.diagnostics().log_joint).all()
    assert model.particles().alive.tolist() == [1.0, 1.0]


# ---------------------------------------------------------------- full, dead, faded
@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")  # full on purpose
@pytest.mark.parametrize("sampler", ["collapsed", "uncollapsed"])
def test_one_row_is_at_home_where_one_particle_is_all_there_may_be(
    sampler: str,
) -> None:
    """It leaves the only slot there is, and needs a particle to go to."""
    model = DependentDPMixture(BASE, max_particles=1, sampler=sampler, **QUICK)
    for n in (1, 1, 3):
        model.update(np.ones((n, 2)))
        assert model.labels_.tolist() == [0] * n


@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")  # full on purpose
@pytest.mark.parametrize("weights", ["gamma", "counts"])
@pytest.mark.parametrize("prune", [0.0, 1e-6])
def test_particles_that_are_surely_dead_take_no_room(
    weights: str, prune: float
) -> None:
    """As many as there may be, and none lives on: rows found new ones all the same."""
    rng = np.random.default_rng(1)
    model = DependentDPMixture(
        BASE, survival=0.0, max_particles=2, prune=prune, weights=weights, **QUICK
    )
    centre = np.repeat([[-20.0, 0.0], [20.0, 0.0]], 10, axis=0)
    for t in range(4):
        model.update(centre + rng.normal(size=centre.shape))
        assert np.isfinite(model.diagnostics().log_joint).all()
        assert sorted(set(model.labels_.tolist())) == [2 * t, 2 * t + 1]
        assert len(model.particles()) == 2


@pytest.mark.parametrize("weights", ["gamma", "counts"])
def test_weights_that_fade_for_long_stay_numbers(weights: str) -> None:
    """Halved 1200 times, they would be 0 / 0."""
    model = DependentDPMixture(
        BASE, survival=1.0, innovation=0.1, weights=weights, weight_memory=0.5,
        count_memory=0.5, **QUICK,
    )  # fmt: skip
    model.update(np.ones((20, 2)))
    for _ in range(1200):
        model.update(np.empty((0, 2)))
    table = model.particles()
    assert (table.count > 0.0).all()
    assert np.isfinite(table.weight_mean).all()
    assert np.isfinite(model.log_predictive([[0.0, 0.0]], ahead=1)).all()
    again = checkpoint.loads(checkpoint.dumps(model))
    assert model_bytes(again.update(np.ones((5, 2)))) == (
        model_bytes(model.update(np.ones((5, 2))))
    )


def test_locations_that_are_drawn_back_for_long_keep_a_variance() -> None:
    """A quarter of it a phase, and no step: 0 after 540 phases."""
    model = DependentDPMixture(
        BASE, survival=1.0, innovation=0.1, transition=RandomWalk(0.0, 0.5), **QUICK
    )
    model.update(np.ones((20, 2)))
    for _ in range(600):
        model.update(np.empty((0, 2)))
    model.update(np.ones((3, 2)))
    assert np.isfinite(model.particles().mean).all()
    assert np.isfinite(model.log_predictive([[0.0, 0.0]])).all()
    checkpoint.loads(checkpoint.dumps(model))


@pytest.mark.parametrize(
    "family", [GaussianUnknown(), GaussianKnownVariance(1.0), Multinomial(0.1)]
)
def test_time_passes_where_no_particle_is_left(family: Any) -> None:
    model = DependentDPMixture(family, survival=0.1, innovation=0.9, prune=0.5, **QUICK)
    model.update(np.arange(12.0).reshape(6, 2))
    for _ in range(3):
        model.update([])
    assert not len(model.particles())
    assert np.isfinite(model.log_predictive([[1.0, 2.0]], ahead=1)).all()
    assert model.forecast(2).mean.shape == (2, 0, 2)
    assert model.update(np.arange(12.0).reshape(6, 2)).n_clusters > 0
