"""What stands beside dependent mixtures: processes, the fixed model, VI, generators."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, kstest, spearmanr, t

from dyntree import datasets
from dyntree.errors import NotReadyError
from dyntree.mixtures import (
    DirichletDraw,
    DynamicFiniteMixture,
    GaussianKnownVariance,
    Multinomial,
    RandomWalk,
    draw_dirichlet_process,
    merge,
    move,
    split,
    superpose,
    thin,
    variation_of_information,
)

LEVEL = 1e-6


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(size=(n, 1))


def inside(atoms: np.ndarray) -> np.ndarray:
    """A set of probability .3 under the base."""
    return atoms[:, 0] < 0.3


def agree(
    a: np.ndarray, b: np.ndarray, mean: float, variance: float, cov: float
) -> None:
    """Mean and variance of a, and its covariance with b, where E b = mean_b is known.

    Three t tests of level 1e-6 in all.
    """
    values = np.stack([a, (a - mean) ** 2, (a - mean) * b[0], b[1]])
    exact = np.array([mean, variance, cov, 0.0])
    spread = values.std(axis=1, ddof=1) / np.sqrt(len(a))
    limit = t.isf(LEVEL / 8, len(a) - 1)
    assert (np.abs(values.mean(axis=1) - exact) < limit * spread).all()


def test_superposition_has_the_moments_of_theorem_3() -> None:
    """Masses 1 and .5, p = .3 and .6: p(1 - p) / 2.5, and a_1 / a p_1 (1 - p_1) / 2."""
    rng = np.random.default_rng(1)
    p, found, part = (0.3 * 1.0 + 0.6 * 0.5) / 1.5, [], []
    for _ in range(6000):
        one = draw_dirichlet_process(1.0, uniform, 80, rng)
        other = draw_dirichlet_process(0.5, lambda n, r: uniform(n, r) / 2.0, 80, rng)
        both = superpose([one, other], rng)
        found.append(both.mass(inside))
        part.append(one.mass(inside))
    assert both.concentration == 1.5
    centred = np.array(part) - 0.3
    cov = (1.0 / 1.5) * 0.3 * 0.7 / 2.0
    agree(np.array(found), np.stack([centred, centred]), p, p * (1 - p) / 2.5, cov)


def test_thinning_has_the_moments_of_theorem_5() -> None:
    """q = .9 inside and .5 outside, alpha = 1.5."""
    rng = np.random.default_rng(2)
    alpha, p = 1.5, 0.3
    after = alpha * (0.9 * p + 0.5 * (1.0 - p))
    mean = 0.9 * p * alpha / after
    found, part = [], []
    for _ in range(6000):
        one = draw_dirichlet_process(alpha, uniform, 120, rng)
        kept = thin(one, lambda atoms: np.where(inside(atoms), 0.9, 0.5), rng)
        found.append(kept.mass(inside))
        part.append(one.mass(inside))
    variance = mean * (1.0 - mean) / (after + 1.0)
    centred = np.array(part) - p
    cov = (after / alpha) * variance
    agree(np.array(found), np.stack([centred, centred]), mean, variance, cov)
    assert thin(one, 0.5, rng).concentration == 0.75


def test_the_chain_has_the_covariance_that_is_written_down() -> None:
    """Superposed at gamma level: q = .7, one phase, alpha = 1.5: .0529."""
    from scipy.integrate import quad
    from scipy.stats import gamma as gamma_law

    alpha, q, p = 1.5, 0.7, 0.3
    rest = (1.0 - q) * alpha

    def phi(g: float) -> float:
        return float(
            quad(lambda s: g * np.exp(-g * s) * (1 + s) ** -rest, 0, np.inf)[0]
        )

    law = gamma_law(q * alpha)
    square = quad(lambda g: phi(g) ** 2 * law.pdf(g), 0, 30, limit=200)[0]
    cov = square * p * (1.0 - p) / (1.0 + q * alpha)
    assert round(cov, 4) == 0.0529
    rng = np.random.default_rng(3)
    before, after = [], []
    for _ in range(8000):
        total = rng.gamma(alpha)
        one = draw_dirichlet_process(alpha, uniform, 100, rng)
        keep = rng.random(len(one.weights)) < q
        kept = total * one.weights * keep
        fresh_total, fresh = (
            rng.gamma(rest),
            draw_dirichlet_process(rest, uniform, 60, rng),
        )
        mass = kept.sum() + fresh_total
        new = kept[inside(one.atoms)].sum() + fresh_total * fresh.mass(inside)
        before.append(one.mass(inside))
        after.append(new / mass)
    centred = np.array(before) - p
    values = np.array(after)
    agree(values, np.stack([centred, centred]), p, p * (1 - p) / (alpha + 1.0), cov)


def test_a_move_keeps_weights_and_moves_atoms() -> None:
    draw = draw_dirichlet_process(2.0, uniform, 50, seed=1)
    moved = move(draw, lambda atoms, rng: atoms + rng.normal(size=atoms.shape), seed=2)
    again = move(draw, lambda atoms, rng: atoms + rng.normal(size=atoms.shape), seed=2)
    assert moved.weights.tolist() == draw.weights.tolist()
    assert moved.atoms.tolist() == again.atoms.tolist() != draw.atoms.tolist()
    assert moved.concentration == 2.0


def test_places_that_atoms_are_merged_into_have_dirichlet_masses() -> None:
    """Cells of .3, .2 and .5, and a tenth of each at random into the first.

    Kolmogorov-Smirnov tests of three masses, and of a ratio that a Dirichlet law has
    independent of the first mass; 2.5e-7 each, so that one run in a million fails.
    """
    rng, alpha = np.random.default_rng(5), 3.0

    def into(atoms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        cell = np.searchsorted([0.3, 0.5], atoms[:, 0])
        return np.where(rng.random(len(cell)) < 0.1, 0, cell)[:, None]

    p = 0.9 * np.array([0.3, 0.2, 0.5]) + 0.1 * np.array([1.0, 0.0, 0.0])
    found = []
    for _ in range(4000):
        merged = merge(draw_dirichlet_process(alpha, uniform, 150, rng), into, rng)
        found.append(
            [merged.mass(lambda atoms, k=k: atoms[:, 0] == k) for k in range(3)]
        )
        assert merged.concentration == alpha
        assert len(merged.weights) <= 3
    mass = np.array(found)
    for k in range(3):
        law = beta(alpha * p[k], alpha * (1.0 - p[k]))
        assert kstest(mass[:, k], law.cdf).pvalue > LEVEL / 4
    ratio = mass[:, 1] / (mass[:, 1] + mass[:, 2])
    seen = np.isfinite(ratio)
    assert seen.mean() > 0.99
    assert spearmanr(mass[seen, 0], ratio[seen]).pvalue > LEVEL / 4


def test_parts_of_a_split_are_independent_dirichlet_processes() -> None:
    """Part 0 gets .9 inside and .5 outside, alpha = 4; so alpha_0 = 2.48.

    Kolmogorov-Smirnov tests of the masses of a set in both parts, of the share of part
    0, and of the set once both are superposed again; rank tests that the three are
    independent: one run in a million fails.
    """
    rng, alpha, p = np.random.default_rng(6), 4.0, 0.3
    q = np.array([[0.9, 0.1], [0.5, 0.5]])

    def chances(atoms: np.ndarray) -> np.ndarray:
        return q[np.where(inside(atoms), 0, 1)]

    rows = []
    for _ in range(4000):
        draw = draw_dirichlet_process(alpha, uniform, 200, rng)
        parts = split(draw, chances, rng)
        share = float(draw.weights[np.isin(draw.atoms, parts[0].atoms)[:, 0]].sum())
        again = superpose(parts, rng)
        rows.append([share, *(one.mass(inside) for one in (*parts, again))])
    share, first, second, again = np.array(rows).T
    own, other = alpha * p * q[0], alpha * (1.0 - p) * q[1]
    laws = [
        (share, beta(own[0] + other[0], own[1] + other[1])),
        (first, beta(own[0], other[0])), (second, beta(own[1], other[1])),
    ]  # fmt: skip
    for values, law in laws:
        assert kstest(values, law.cdf).pvalue > LEVEL / 7
    for one, two in ((share, first), (share, second), (first, second)):
        assert spearmanr(one, two).pvalue > LEVEL / 7
    halves = split(draw, [0.5, 0.5], rng)
    assert [one.concentration for one in halves] == [2.0, 2.0]
    assert kstest(again, beta(alpha * p, alpha * (1.0 - p)).cdf).pvalue > LEVEL / 7


def test_one_draw_is_split_and_merged_by_its_seed() -> None:
    draw = draw_dirichlet_process(2.0, uniform, 50, seed=1)
    one, other = (split(draw, [0.2, 0.3, 0.5], seed=k) for k in (2, 2))
    for a, b in zip(one, other, strict=True):
        assert a.atoms.tolist() == b.atoms.tolist()
        assert a.weights.sum() == pytest.approx(1.0)
    assert sum(len(a.atoms) for a in one) == len(draw.atoms)
    whole = merge(draw, lambda atoms, rng: np.zeros((len(atoms), 2)))
    assert whole.atoms.tolist() == [[0.0, 0.0]]
    assert whole.weights == pytest.approx(1.0)
    same = merge(draw, lambda atoms, rng: atoms)
    assert sorted(same.weights) == pytest.approx(sorted(draw.weights))


def test_processes_refuse_what_they_cannot_take() -> None:
    draw = draw_dirichlet_process(1.0, uniform, 20, seed=1)
    wrong: list[tuple[Any, str]] = [
        (lambda: draw_dirichlet_process(0.0, uniform), "concentration must be > 0"),
        (
            lambda: draw_dirichlet_process(1.0, uniform, 0),
            "n_atoms must be an int >= 1",
        ),
        (lambda: superpose([]), "draws must hold one"),
        (lambda: superpose([1]), "draws must be a DirichletDraw"),
        (lambda: thin(draw, 1.5), "keep must give probabilities"),
        (lambda: thin(draw, 0.0), "keep must leave an atom"),
        (lambda: thin(1, 0.5), "draw must be a DirichletDraw"),
        (lambda: move(draw, lambda a, rng: a[1:]), "transition must give one row"),
        (lambda: merge(draw, lambda a, rng: a[:, 0]), "into must give one row"),
        (lambda: merge(1, lambda a, rng: a), "draw must be a DirichletDraw"),
        (lambda: split(draw, 0.5), "chances must be one for each part"),
        (lambda: split(draw, lambda a: a[1:]), "chances must be one for each part"),
        (lambda: split(draw, [0.5, 0.6]), "chances must be >= 0 with sum 1"),
        (lambda: split(draw, [1.5, -0.5]), "chances must be >= 0 with sum 1"),
        (lambda: split(draw, [1.0, 0.0]), "chances must leave an atom to each part"),
        (
            lambda: DirichletDraw(np.ones((2, 1)), np.ones(2), 1.0),
            "weights must be > 0",
        ),
        (
            lambda: DirichletDraw(np.ones(2), np.ones(2) / 2, 1.0),
            "atoms must have shape",
        ),
    ]
    for call, said in wrong:
        with pytest.raises(ValueError, match=said):
            call()


# ---------------------------------------------------------------- distances
def test_variation_of_information_is_a_metric() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        a, b, c = (rng.integers(k, size=40) for k in (3, 4, 5))
        ab, bc, ac = (
            variation_of_information(*pair) for pair in ((a, b), (b, c), (a, c))
        )
        assert ab == pytest.approx(variation_of_information(b, a))
        assert ac <= ab + bc + 1e-12
        assert 0.0 < ab <= np.log(40)
        assert variation_of_information(a, (a + 7) % 11) == 0.0
    names = np.array(["x", "y", "z"], dtype=object)[a]
    assert variation_of_information(names, a) == 0.0
    assert variation_of_information([], []) == 0.0


def test_variation_of_information_is_its_definition() -> None:
    a, b = np.array([0, 0, 1, 1, 1]), np.array([5, 5, 5, 2, 2])
    table = np.array([[2, 0], [1, 2]]) / 5.0

    def entropy(p: np.ndarray) -> float:
        return -float(np.sum(p[p > 0] * np.log(p[p > 0])))

    rows, columns = table.sum(axis=1), table.sum(axis=0)
    mutual = entropy(rows) + entropy(columns) - entropy(table.ravel())
    expected = entropy(rows) + entropy(columns) - 2.0 * mutual
    assert variation_of_information(a, b) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="a label for each row; got 5 and 4"):
        variation_of_information(a, b[:4])
    with pytest.raises(ValueError, match="b must hold labels; got None in row 1"):
        variation_of_information([1, 2], [1, None])
    with pytest.raises(ValueError, match="a must be one label a row"):
        variation_of_information(np.ones((2, 2)), [1, 2])


# ---------------------------------------------------------------- the fixed model
def test_the_fixed_model_follows_as_many_clusters_as_it_is_told() -> None:
    data = datasets.evolving_gaussians(8, 40, births=0.0, mean_life=1e9, seed=3)
    family = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=49.0)
    model = DynamicFiniteMixture(2, family, n_sweeps=12, burn_in=4)
    for rows in data.phases:
        model.update(rows)
    truth = np.concatenate(data.labels)
    found = np.concatenate([model.labels(k) for k in range(8)])
    assert variation_of_information(found, truth) < 0.1
    for mean in data.means[-1]:
        assert np.linalg.norm(model.means_ - mean, axis=1).min() < 0.8
    rows = data.phases[-1]
    assert variation_of_information(model.predict(rows), model.labels_) < 0.1
    side = np.linspace(-60.0, 60.0, 241)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(np.exp(model.log_predictive(grid)).sum() * 0.25, 1.0)
    again = DynamicFiniteMixture(2, family, n_sweeps=12, burn_in=4)
    phases = np.repeat(np.arange(8), [len(rows) for rows in data.phases])
    again.update(np.concatenate(data.phases), phases=phases)
    assert again.labels_.tolist() == model.labels_.tolist()


def test_the_fixed_model_takes_few_rows_and_none() -> None:
    model = DynamicFiniteMixture(3, GaussianKnownVariance(1.0), n_sweeps=6, burn_in=2)
    model.update(np.empty((0, 2)))
    with pytest.raises(NotReadyError, match="needs a phase with rows"):
        model.predict([[0.0, 0.0]])
    model.update(np.ones((2, 2))).update([]).update([[5.0, 5.0]])
    assert model.n_phases == 4
    assert len(model.labels(2)) == 0
    with pytest.raises(ValueError, match="phase must be one of the 4 learned; got 4"):
        model.labels(4)
    for wrong in ("a", True, 1.0):
        with pytest.raises(ValueError, match="phase must be an int"):
            model.labels(wrong)  # type: ignore[arg-type]
    words = DynamicFiniteMixture(2, Multinomial(0.1), n_sweeps=6, burn_in=2)
    assert words.update([[3.0, 0.0], [0.0, 0.0], [0.0, 2.0]]).labels_[1] == -1


def test_the_fixed_model_can_be_copied_and_pickled() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 2)) + 9.0 * rng.integers(2, size=(20, 1))
    model = DynamicFiniteMixture(2, GaussianKnownVariance(1.0), n_sweeps=6, burn_in=2)
    model.update(X)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.update(X).n_phases == 2
        assert model.n_phases == 1
        assert (twin.labels(1) == copy.deepcopy(model).update(X).labels_).all()


def test_the_fixed_model_refuses_bad_options() -> None:
    family = GaussianKnownVariance(1.0)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"n_components": 0}, "n_components must be an int >= 1"),
        ({"weight_prior": 0.0}, "weight_prior must be > 0"),
        ({"burn_in": 99}, "burn_in must be < n_sweeps"),
        ({"family": 3}, "family must be one of"),
        ({"transition": 3}, "transition must be a RandomWalk"),
    ]
    for options, said in wrong:
        with pytest.raises(ValueError, match=said):
            DynamicFiniteMixture(**{"n_components": 2, "family": family} | options)
    assert DynamicFiniteMixture(2, family, transition=RandomWalk(0.0)).n_phases == 0


# ---------------------------------------------------------------- generators
@pytest.mark.parametrize(
    "make", ["evolving_gaussians", "evolving_flows", "evolving_topics"]
)
def test_generators_are_their_seed(make: str) -> None:
    generate = getattr(datasets, make)
    one, same, other = generate(4, 20, seed=1), generate(4, 20, seed=1), generate(4, 20)
    assert len(one) == 4
    for k in range(4):
        assert one.phases[k].tobytes() == same.phases[k].tobytes()
        assert len(one.phases[k]) == len(one.labels[k])
        assert set(one.labels[k].tolist()) <= set(one.ids[k].tolist())
        assert len(one.ids[k]) == len(one.means[k])
    assert one.phases[0].tobytes() != other.phases[0].tobytes()
    with pytest.raises(ValueError, match="n_phases must be an int >= 1"):
        generate(0)
    with pytest.raises(ValueError, match="mean_life must be >= 1"):
        generate(4, mean_life=0.5)
    with pytest.raises(ValueError, match="births must be >= 0"):
        generate(4, births=-1.0)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("evolving_gaussians", {"variance": -1.0}, "variance must be >= 0; got -1.0"),
    ("evolving_gaussians", {"step_variance": -1.0}, "step_variance must be >= 0"),
    ("evolving_gaussians", {"base_variance": np.nan}, "base_variance must be finite"),
    ("evolving_gaussians", {"n_columns": 0}, "n_columns must be an int >= 1"),
    ("evolving_flows", {"noise": -1.0}, "noise must be >= 0"),
    ("evolving_topics", {"drift": 2.0}, r"drift must be in \[0, 1\]; got 2.0"),
    ("evolving_topics", {"n_words": 0}, "n_words must be an int >= 1"),
    ("evolving_topics", {"length": -1}, "length must be an int >= 0"),
]


@pytest.mark.parametrize(("make", "options", "said"), WRONG)
def test_generators_refuse_what_they_cannot_take(
    make: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        getattr(datasets, make)(4, 20, **options)


def test_strokes_run_from_frame_to_frame() -> None:
    strokes, same = datasets.task_strokes(3, seed=1), datasets.task_strokes(5, seed=1)
    for (rows, frames), (again, _) in zip(strokes, same, strict=False):
        assert rows.tobytes() == again.tobytes()
        for at, next_to, (A, b), way in (
            (0, 30, frames[0], 1),
            (-1, -30, frames[1], -1),
        ):
            assert np.linalg.norm(rows[at] - b) < 0.1  # ten standard deviations
            seen = np.linalg.solve(A, rows[next_to] - b)
            assert way * seen[0] > 0.1
    for wrong in ({"n_strokes": -1}, {"noise": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            datasets.task_strokes(**wrong)


def test_clusters_live_as_long_and_are_born_as_often_as_told() -> None:
    """Means of geometric lives and Poisson births; false alarms 1e-6 each."""
    data = datasets.evolving_gaussians(4000, 0, n_start=0, births=2.0, mean_life=5.0)
    ids = np.concatenate(data.ids)
    lives = np.unique(ids, return_counts=True)[1]
    limit = 4.9 * np.sqrt(20.0 / len(lives))
    assert abs(lives.mean() - 5.0) < limit
    assert abs(len(lives) / 3999 - 2.0) < 4.9 * np.sqrt(2.0 / 3999)


def test_a_fixed_model_is_asked_about_phases_to_come() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2)) + 9.0 * rng.integers(2, size=(200, 1))
    family = GaussianKnownVariance(1.0)
    model = DynamicFiniteMixture(
        2, family, transition=RandomWalk(0.5), n_sweeps=12, burn_in=4
    ).update(X)
    place = np.array([[0.0, 0.0], [9.0, 9.0], [20.0, 20.0]])
    now, later = model.log_predictive(place), model.log_predictive(place, ahead=4)
    share = np.log(0.5 / (2.0 * np.pi))  # half the rows, variance 1 + 4 x .5 later
    assert now[:2] == pytest.approx(share, abs=0.2)
    assert later[:2] == pytest.approx(share - np.log(3.0), abs=0.2)
    assert later[2] > now[2]
    with pytest.raises(ValueError, match="ahead must be an int >= 0"):
        model.log_predictive(place, ahead=-1)
