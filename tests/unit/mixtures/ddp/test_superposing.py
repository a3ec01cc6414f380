"""Several models that go on as one: what adds up, what stays, what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import checkpoint
from dyntree.errors import NotReadyError
from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    Multinomial,
    RandomWalk,
)
from dyntree.mixtures.ddp.merging import with_merged
from dyntree.mixtures.ddp.state import MOST_COHORTS, predicted
from tests.helpers import model_bytes, mostly_slow
from tests.oracle import ddp
from tests.unit.mixtures.ddp.phases import sampler_of, state_of

BASE = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=100.0)
QUICK: dict[str, Any] = {"n_sweeps": 8, "burn_in": 2}


def rows(places: list[tuple[float, float]], n: int = 25, seed: int = 0) -> np.ndarray:
    centre = np.repeat(np.array(places), n, axis=0)
    return centre + np.random.default_rng(seed).normal(size=centre.shape)


LEFT = [(-12.0, 0.0), (-12.0, 14.0)]
RIGHT = [(12.0, 0.0), (12.0, 14.0), (0.0, -20.0)]


def learned(places: Any, n_phases: int, **more: Any) -> DependentDPMixture:
    model = DependentDPMixture(**{"family": BASE} | QUICK | more)
    for t in range(n_phases):
        model.update(rows(places, seed=t))
    return model


@pytest.mark.parametrize("weights", ["gamma", "counts"])
@pytest.mark.parametrize("sampler", ["collapsed", "uncollapsed"])
def test_a_phase_of_both_finds_all_clusters_under_their_ids(
    weights: str, sampler: str
) -> None:
    more = {"weights": weights, "sampler": sampler}
    one, other = learned(LEFT, 4, **more), learned(RIGHT, 2, **more)
    before = [model_bytes(one), model_bytes(other)]
    both = DependentDPMixture.superpose([one, other], seed=3)
    raised = one._state.next_id
    expected = [*one.labels_, *(other.labels_ + raised)]
    assert both.labels_.tolist() == expected
    both.update(np.concatenate([rows(LEFT, seed=9), rows(RIGHT, seed=9)]))
    assert both.labels_.tolist() == expected
    new = both.update(rows([*LEFT, (30.0, 30.0)])).labels_
    assert new[-1] == raised + other._state.next_id
    assert (both.n_phases, both.n_seen) == (6, 200 + 150 + 125 + 75)
    assert [model_bytes(one), model_bytes(other)] == before


def test_phases_end_at_once_and_ids_are_distinct() -> None:
    one, other = learned(LEFT, 4), learned(RIGHT, 2)
    both = DependentDPMixture.superpose([one, other])
    raised = one._state.next_id
    for t in range(4):
        theirs = [] if t < 2 else (other.labels(t - 2) + raised).tolist()
        assert both.labels(t).tolist() == [*one.labels(t).tolist(), *theirs]
    lines, table = both.lifelines(), both.particles()
    assert lines.count.sum(axis=0).tolist() == [50, 50, 125, 125]
    assert table.born.tolist() == [0, 0, 2, 2, 2]
    assert (table.last_seen == 3).all()
    path, own = both.trajectory(raised), other.trajectory(0)
    assert path.mean.tolist() == own.mean.tolist()
    assert path.phase.tolist() == (own.phase + 2).tolist()
    swapped = DependentDPMixture.superpose([other, one])
    assert swapped.particles().born.tolist() == [2, 2, 2, 0, 0]
    assert swapped.update(rows(LEFT)).labels_.tolist() == [3] * 25 + [4] * 25


def parents() -> tuple[DependentDPMixture, DependentDPMixture]:
    one = learned(LEFT, 3, concentration=0.8, innovation=0.05, survival=0.9)
    other = learned(RIGHT, 2, concentration=0.3, innovation=0.2, survival=0.9)
    return one, other.update(np.empty((0, 2)))


def test_masses_add_up_and_particles_stay_as_theorem_3_says() -> None:
    """What a phase begins with is what those of the parents begin with, together."""
    one, other = parents()
    both = DependentDPMixture.superpose([one, other])
    assert both.options.concentration == pytest.approx(1.1)
    assert both.options.innovation == pytest.approx(0.25)
    assert both._state.mass.sum() == pytest.approx(
        one._state.mass.sum() + other._state.mass.sum()
    )
    apart = [predicted(m._state, m.options, m.family_) for m in (one, other)]
    whole = predicted(both._state, both.options, both.family_)
    for name in ("m", "E", "alive", "row"):
        parts = [getattr(p.particles, name) for p in apart]
        assert getattr(whole.particles, name).tolist() == np.concatenate(parts).tolist()
    u = np.geomspace(0.01, 1e4, 9)[:, None]

    def log_unseen(p: Any) -> np.ndarray:
        """log E exp(-u G) of mass never seen: what the law knows of cohorts."""
        total: np.ndarray = -(p.mass * np.log1p(u / p.source_exposure)).sum(axis=1)
        return total

    np.testing.assert_allclose(log_unseen(whole), sum(map(log_unseen, apart)))
    weights, unseen = [], 0.0
    for state in (one._state, other._state):
        p = state.particles
        weights.append(p.alive * p.m / p.E)
        unseen += float((state.mass / state.source_exposure).sum())
    weight = np.concatenate(weights)
    share = both._shares(both._state, both.family_)[2]
    np.testing.assert_allclose(
        share, np.append(weight, unseen) / (weight.sum() + unseen)
    )


def test_the_first_phase_after_has_the_enumerated_law() -> None:
    """The joint law of labels and u that the sum of both begins with, by the oracle."""
    one, other = parents()
    both = DependentDPMixture.superpose([one, other])
    ahead = [predicted(m._state, m.options, m.family_) for m in (one, other)]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(p.particles, name) for p in ahead])

    mean, var = np.split(joined("row"), 2, axis=1)
    a = np.concatenate([p.mass for p in ahead])
    phase = ddp.Phase(
        m=joined("m"), E=joined("E"), q=joined("alive"), mean=mean, var=var, a=a,
        Es=np.concatenate([p.source_exposure for p in ahead]), base_mean=np.zeros(2),
        base_var=np.full(2, 100.0), noise=np.ones(2),
    )  # fmt: skip
    X = np.array([LEFT[0], RIGHT[1], RIGHT[1], (40.0, 40.0)])
    made = predicted(both._state, both.options, both.family_)
    total = ddp.replace(phase, a=made.mass, Es=made.source_exposure, m=made.particles.m)
    sampler = sampler_of(total, X)
    sampler.labels_once(0, True)
    for sweep in range(1, 6):
        sampler.labels_once(sweep, False)
        sampler.rest_of_sweep(sweep, True)
    labels, sources = state_of(sampler, phase.K)

    def summed(p: ddp.Phase) -> float:
        """Over the sources of the new particle, which are other numbers there."""
        logs = [
            float(ddp.log_joint(p, X, labels, (source,), sampler.u))
            for source in range(len(p.a))
        ]
        return float(np.logaddexp.reduce(logs))

    assert len(sources) == 1
    np.testing.assert_allclose(summed(total), summed(phase), rtol=1e-12)


def test_files_copies_and_pickles_hold_what_was_superposed() -> None:
    both = DependentDPMixture.superpose(list(parents()), seed=5)
    X = np.concatenate([rows(LEFT), rows(RIGHT)])
    for twin in (
        checkpoint.loads(checkpoint.dumps(both)), pickle.loads(pickle.dumps(both)),
        both.copy(), DependentDPMixture.from_arrays(*both.to_arrays()),
    ):  # fmt: skip
        assert model_bytes(twin) == model_bytes(both)
        assert model_bytes(twin.update(X)) == model_bytes(both.copy().update(X))
    header, arrays = both.to_arrays()
    for wrong in ([[0, 2]], [[0, 3, 2]], [[0, 1, 99]], 3, [[0, -1, 2]]):
        with pytest.raises((ValueError, TypeError)):
            DependentDPMixture.from_arrays(header | {"joins": wrong}, arrays)


def test_one_model_goes_on_as_it_would_have() -> None:
    one = learned(LEFT, 3)
    again = DependentDPMixture.superpose([one], seed=one.seed)
    X = rows(LEFT, seed=8)
    assert again.update(X).labels_.tolist() == one.update(X).labels_.tolist()
    assert again._state.particles.E.tolist() == one._state.particles.E.tolist()


def test_clusters_of_two_models_never_become_one_but_those_of_one_may() -> None:
    """Three models of the same cluster, superposed two by two: a network of parents."""
    one, two, three = (learned([(5.0, 5.0)], 2, seed=k) for k in range(3))
    both = DependentDPMixture.superpose([one, two])
    for t in range(4):
        both.update(rows([(5.0, 5.0)], seed=20 + t))
        assert both.particles().alive.max() == 1.0
    all_three = DependentDPMixture.superpose([three, both])
    all_three.update(rows([(5.0, 5.0)], n=90, seed=30))
    assert not {*all_three.aliases_} & {0, 1, 2}
    state, b = all_three._state, three._state.next_id
    ours = both._state.next_id
    assert ours >= 2
    for first, other, same in (
        (0, b, False), (0, b + ours - 1, False), (b, b + 1, False), (b, b, True),
        (0, b + ours, True), (b + 1, b + ours + 3, True),
    ):  # fmt: skip
        assert state.may_be_one(first, other) == same
        assert state.may_be_one(other, first) == same


@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")  # full on purpose
def test_memory_stays_within_its_bounds() -> None:
    more = {"survival": 1.0, "innovation": 0.1, "history": 3}
    one, other = learned(LEFT, 2, **more), learned(RIGHT, 5, **more)
    for _ in range(MOST_COHORTS // 2 + 50):
        one.update([])
        other.update([])
    assert len(one._state.mass) + len(other._state.mass) > MOST_COHORTS
    both = DependentDPMixture.superpose([one, other])
    assert len(both._state.mass) <= MOST_COHORTS
    assert (np.diff(both._state.source_exposure) <= 0.0).all()
    assert both._state.mass.sum() == pytest.approx(
        one._state.mass.sum() + other._state.mass.sum()
    )
    checkpoint.loads(checkpoint.dumps(both.update(rows(LEFT))))
    few = {"max_particles": 4}
    pair = [learned(LEFT, 2, **few), learned(RIGHT, 2, **few)]
    full = DependentDPMixture.superpose(pair)
    assert len(full.particles()) == 4
    assert full.memory_usage() <= sum(m.memory_usage() for m in pair) + 1000


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"survival": 0.5}, "models must have the same survival; got 0.95 and 0.5"),
    ({"transition": RandomWalk(3.0)}, "models must have the same transition"),
    ({"weights": "counts"}, "models must have the same weights; got 'gamma' and"),
    ({"family": GaussianKnownVariance(1.0)}, "models must have one family, with the"),
    ({"family": GaussianUnknown()}, "models must have one family, with the same"),
]


@pytest.mark.parametrize(("options", "said"), WRONG)
def test_models_that_cannot_be_one_are_refused(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        DependentDPMixture.superpose([learned(LEFT, 2), learned(RIGHT, 2, **options)])


def test_what_is_no_model_that_has_learned_is_refused() -> None:
    one = learned(LEFT, 1)
    with pytest.raises(ValueError, match="models must hold one"):
        DependentDPMixture.superpose([])
    with pytest.raises(
        ValueError, match=r"models must be of DependentDPMixture; got 3"
    ):
        DependentDPMixture.superpose([one, 3])  # type: ignore[list-item]
    with pytest.raises(NotReadyError, match="superpose needs a phase with rows"):
        DependentDPMixture.superpose([one, DependentDPMixture(BASE, **QUICK)])
    named = [
        DependentDPMixture(BASE, **QUICK).update(
            pd.DataFrame(rows(LEFT), columns=names)
        )
        for names in (["a", "b"], ["b", "a"])
    ]
    with pytest.raises(ValueError, match="the same columns, in one order; got"):
        DependentDPMixture.superpose(named)
    fading = [learned(LEFT, 2, weight_memory=0.5) for _ in range(2)]
    with pytest.raises(ValueError, match="history_merge must be False"):
        DependentDPMixture.superpose(fading)
    fade: dict[str, Any] = {"weight_memory": 0.5, "history_merge": False}
    fading = [learned(LEFT, 2, **fade), learned(RIGHT, 2, **fade)]
    assert DependentDPMixture.superpose(fading).update(rows(LEFT)).n_phases == 3


@pytest.mark.parametrize("family", [GaussianUnknown(), AffineFlow(), Multinomial(0.1)])
def test_any_family_with_its_scales_is_superposed(family: Any) -> None:
    """Scales that the first model has found are given to the second."""
    X = np.abs(np.round(np.hstack([rows(LEFT), rows(LEFT, seed=1)])))
    one = DependentDPMixture(family, **QUICK).update(X)
    other = DependentDPMixture(one.family_, **QUICK).update(X[:20])
    both = DependentDPMixture.superpose([one, other])
    assert both.family_ == one.family_
    both.update(X)
    assert model_bytes(checkpoint.loads(checkpoint.dumps(both))) == model_bytes(both)


def test_models_that_share_a_past_are_refused() -> None:
    """Its clusters would be there twice, with twice the concentration."""
    one = learned(LEFT, 1)
    copies = [one.copy().update(rows(places, seed=7)) for places in (LEFT, RIGHT)]
    other = learned(RIGHT, 1)
    both = DependentDPMixture.superpose([one, other])
    loaded = checkpoint.loads(checkpoint.dumps(copies[0]))
    for relatives in (
        copies, [one, copies[0]], [one, one], [other, both], [both, copies[1]],
        [learned(LEFT, 2), other, loaded],
    ):  # fmt: skip
        before = [checkpoint.dumps(model) for model in relatives]
        with pytest.raises(ValueError, match="two of them share a past, as copies"):
            DependentDPMixture.superpose(relatives)
        assert [checkpoint.dumps(model) for model in relatives] == before
    fresh = DependentDPMixture(BASE, **QUICK)
    apart = [fresh.copy().update(rows(places)) for places in (LEFT, RIGHT)]
    assert DependentDPMixture.superpose(apart).update(rows(LEFT)).n_phases == 2


# ---------------------------------------------------------------- copies of one model
def parts_of_phases(seed: int, n_phases: int, n_parts: int) -> list[list[np.ndarray]]:
    """Phases of five clusters far apart, each in parts."""
    rng = np.random.default_rng(seed)
    phases = []
    for t in range(n_phases):
        X = rng.permutation(rows([*LEFT, *RIGHT], seed=100 * seed + t))
        phases.append(np.array_split(X, n_parts))
    return phases


@pytest.mark.parametrize("more", [{}, {"weights": "counts"}, {"weight_memory": 0.8}])
@pytest.mark.parametrize("n_parts", [2, 3])
def test_copies_joined_are_the_model_of_all_rows(
    n_parts: int, more: dict[str, Any]
) -> None:
    """Clusters are so far apart that labels are the same in every run."""
    before, after = parts_of_phases(1, 3, 1), parts_of_phases(2, 4, n_parts)
    start = DependentDPMixture(**{"family": BASE, "seed": 1} | QUICK | more)
    for (X,) in before:
        start.update(X)
    copies, whole = [start.copy() for _ in range(n_parts)], start.copy()
    for parts in after:
        whole.update(np.concatenate(parts))
        for copy_, part in zip(copies, parts, strict=True):
            copy_.update(part)
    saved = [model_bytes(one) for one in (start, *copies)]
    joined = DependentDPMixture.superpose(copies, seed=2, since=start)
    assert [model_bytes(one) for one in (start, *copies)] == saved
    assert joined.options == start.options
    assert (joined.n_phases, joined.n_seen) == (whole.n_phases, whole.n_seen)
    ours, theirs = joined.particles(), whole.particles()
    assert ours.id.tolist() == theirs.id.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(joined._state.particles.m, whole._state.particles.m)
    np.testing.assert_array_equal(joined._state.counts, whole._state.counts)
    assert joined.labels_.tolist() == whole.labels_.tolist()
    E = [one._state.particles.E for one in (start, *copies)]
    fade = more.get("weight_memory", 1.0) ** 4
    np.testing.assert_allclose(
        joined._state.particles.E, sum(E[1:]) - (n_parts - 1) * fade * E[0], rtol=1e-9
    )
    again = checkpoint.loads(checkpoint.dumps(joined))
    for one in (joined, again):
        one.update(np.concatenate(after[0]))
        assert one.n_clusters == 5
    assert checkpoint.dumps(again) == checkpoint.dumps(joined)


def test_clusters_born_in_one_copy_join_the_others() -> None:
    start = learned(LEFT, 3)
    left, right = start.copy(), start.copy()
    for t in range(3):
        left.update(rows([*LEFT, RIGHT[0]], seed=10 + t))
        right.update(rows([LEFT[0], RIGHT[1]], seed=20 + t))
    joined = DependentDPMixture.superpose([left, right], since=start, seed=0)
    assert joined.particles().id.tolist() == [0, 1, 2, 3]
    assert joined.options.concentration == start.options.concentration
    joined.update(rows([*LEFT, *RIGHT[:2]], seed=30))
    assert joined.labels_.tolist() == np.repeat([0, 1, 2, 3], 25).tolist()


def test_what_is_no_copy_is_not_joined_as_one() -> None:
    start, other = learned(LEFT, 2), learned(LEFT, 2, seed=9)
    one, two = start.copy().update(rows(LEFT)), start.copy().update(rows(LEFT, seed=5))
    long = start.copy()
    for t in range(start.options.history + 1):
        long.update(rows(LEFT, seed=t))
    joined = DependentDPMixture.superpose([one, two], since=start)
    three, four = (joined.copy().update(rows(LEFT, seed=k)) for k in (6, 7))
    with pytest.raises(ValueError, match="two have learned the same rows in phase 2"):
        DependentDPMixture.superpose([three, four], since=start)
    assert DependentDPMixture.superpose([three, four], since=joined).n_phases == 4
    sibling = start.copy().update(rows([(40.0, 0.0), (-40.0, 0.0)]))
    for models, since, words in (
        ([one, other], start, "must be copies of since"),
        ([one.copy().update(rows(LEFT)), two], sibling, "must have learned all phases"),
        (
            [start, two],
            one,
            r"all phases of since; models\[0\] has not. Give as since the model as it",
        ),
        ([one, one.copy()], start, "two have learned the same rows"),
        ([one, two.copy().update(rows(LEFT))], start, "as many phases"),
        ([long, long.copy()], start, "at most .* phases"),
        ([one, two], 3, "since must be a DependentDPMixture"),
        (
            [one, learned(LEFT, 3, survival=0.7)],
            start,
            "must have the options of since",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            DependentDPMixture.superpose(models, since=since)  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [
    {}, {"survival": 0.8}, {"survival": 0.5}, {"weight_memory": 0.5},
    {"weights": "counts"}, {"history_merge": False}, {"innovation": 1.0},
])  # fmt: skip
@pytest.mark.parametrize("n_steps", [2, 5])
def test_models_joined_again_and_again_are_saved_and_go_on(
    n_steps: int, more: dict[str, Any]
) -> None:
    """Clusters come and go, each seen by one copy or by both."""
    rng = np.random.default_rng(7)
    model = learned(LEFT, 3, **more)
    for _ in range(6):
        copies = [model.copy(), model.copy()]
        for _ in range(n_steps):
            for copy_ in copies:
                some = rng.choice(5, size=rng.integers(1, 4), replace=False)
                places = [[*LEFT, *RIGHT][k] for k in some]
                copy_.update(rows(places, n=8, seed=int(rng.integers(2**31))))
        n_seen = model.n_seen
        made = [
            DependentDPMixture.superpose(order, seed=1, since=model)
            for order in (copies, copies[::-1])
        ]
        assert made[0].n_seen == sum(one.n_seen for one in copies) - n_seen
        a, b = (np.sort(one._state.particles.m) for one in made)
        np.testing.assert_allclose(a, b, rtol=1e-9)
        again = checkpoint.loads(checkpoint.dumps(made[0]))
        assert checkpoint.dumps(again) == checkpoint.dumps(made[0])
        model = made[0]
    assert model.update(rows(LEFT)).n_clusters >= 1


def test_rows_of_a_later_phase_may_be_equal_by_chance() -> None:
    """A blank row, or rows of a sensor that is off."""
    start = learned(LEFT, 2)
    for off in (np.zeros((1, 2)), np.zeros((25, 2))):
        copies = [
            start.copy().update(rows(LEFT, seed=k)).update(off).update(rows(LEFT))
            for k in (5, 6)
        ]
        joined = DependentDPMixture.superpose(copies, since=start)
        assert joined.n_seen == sum(one.n_seen for one in copies) - start.n_seen
        assert checkpoint.dumps(checkpoint.loads(checkpoint.dumps(joined)))


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_a_copy_is_not_joined_with_what_it_was_joined_into(
    later: bool, stored: bool
) -> None:
    """Its rows would count twice, also once both have learned more."""
    start = learned(LEFT, 2)
    one, two, three = (start.copy().update(rows(LEFT, seed=k)) for k in (5, 6, 7))
    joined = DependentDPMixture.superpose([one, two], since=start)
    if stored:
        joined = checkpoint.loads(checkpoint.dumps(joined))
    if later:
        for k, model in enumerate((joined, two, three)):
            model.update(rows(LEFT, seed=8 + k))
    for pair in ([joined, two], [two, joined], [joined, joined.copy()]):
        with pytest.raises(ValueError, match="the same rows in phase 2"):
            DependentDPMixture.superpose(pair, since=start)
    both = DependentDPMixture.superpose([joined, three], since=start)
    assert both.n_seen == joined.n_seen + three.n_seen - start.n_seen
    with pytest.raises(ValueError, match="the same rows in phase 2"):
        DependentDPMixture.superpose([both, two], since=start)


def test_marks_of_joined_copies_do_not_grow() -> None:
    model = learned(LEFT, 1)
    for k in range(5):
        copies = [model.copy().update(rows(LEFT, seed=10 * k + c)) for c in range(2)]
        model = DependentDPMixture.superpose(copies, since=model)
        assert len(model._state.joined) == 2


@pytest.mark.parametrize("n_empty", [0, 1])
def test_a_phase_learned_twice_is_known_after_a_merge_in_one_copy(n_empty: int) -> None:
    start = learned([*LEFT, *RIGHT], 1)
    later = start.copy()
    for _ in range(n_empty):
        later.update([])
    later.update(rows([*LEFT, *RIGHT], n=7, seed=5))
    for pair in ((0, 1), (0, 3), (1, 2), (2, 4)):
        one, two = (later.copy().update(rows(LEFT, seed=k)) for k in (6, 7))
        two._state = with_merged(two._state, *pair, two.options, two.family_)
        with pytest.raises(ValueError, match=f"the same rows in phase {1 + n_empty}"):
            DependentDPMixture.superpose([one, two], since=start)


@pytest.mark.filterwarnings("ignore::dyntree.errors.ScaleWarning")
@pytest.mark.parametrize("step", mostly_slow([0.0, 1.0]))
@pytest.mark.parametrize("n_rows", [20, 60, 120, 198])
def test_families_that_were_chosen_again_are_not_joined(
    n_rows: int, step: float
) -> None:
    """Whatever the rows after, and whether they are rounded as the first ones are."""
    rng = np.random.default_rng(0)

    def pair(apart: float, n: int, to: float) -> np.ndarray:
        z = np.repeat([-apart, apart], n // 2)[:, None]
        z = z + 4.0 * rng.normal(size=(n, 2))
        return np.round(z / to) * to if to else z

    text = "must have the scales of since, .* Copy a model after its first 200 rows"
    start = DependentDPMixture(GaussianUnknown(), **QUICK, seed=0)
    start.update(pair(20, n_rows, step))
    for apart, to in ((20, step), (200, step), (20, step / 4)):
        copies = [start.copy().update(pair(apart, 2 * n_rows, to)) for _ in range(2)]
        with pytest.raises(ValueError, match=text):
            DependentDPMixture.superpose(copies, since=start)
        assert all(one._state.origins == start._state.origins for one in copies)
        later = copies[0].copy().update(pair(apart, 4 * n_rows, to))
        with pytest.raises(ValueError, match=text):
            DependentDPMixture.superpose([later], since=start)
