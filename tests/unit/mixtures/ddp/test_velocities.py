"""Clusters that move on with their velocities, against a filter in plain NumPy."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from dyntree.checkpoint import dumps, loads
from dyntree.errors import MixingWarning
from dyntree.mixtures import (
    AffineFlow,
    ConstantVelocity,
    DependentDPMixture,
    Discount,
    GaussianKnownVariance,
    GaussianUnknown,
)
from dyntree.mixtures.ddp.blocks import natural
from dyntree.mixtures.ddp.regression import GaussianMoving
from tests.unit.mixtures.sva.test_dpgmm import agreement

pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.ScaleWarning")
NOISE, START, KAPPA = 0.3, 4.0, 0.2
SCALE = np.array([[2.0, 0.5], [0.5, 1.0]])


def phases(n_phases: int, seed: int) -> list[np.ndarray]:
    """Rows of one cluster, none in some phases."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 5, n_phases)
    return [
        t * np.array([2.0, -1.0]) + rng.normal(size=(n, 2)) for t, n in enumerate(sizes)
    ]


def path_covariance(n_phases: int) -> np.ndarray:
    """Covariance of the centres of all phases, in units of that of rows.

    The velocity is a random walk w with steps of variance NOISE within phases: a centre
    is the integral of it, so that Brownian motion is integrated once.
    """
    out = np.zeros((n_phases, n_phases))
    for s in range(n_phases):
        for t in range(n_phases):
            a, b = min(s, t), max(s, t)
            brownian = NOISE * a**2 * (3 * b - a) / 6.0
            out[s, t] = 1.0 / KAPPA + START * s * t + brownian
    return out


@pytest.mark.parametrize("seed", range(4))
def test_it_is_regression_on_the_whole_path(seed: int) -> None:
    """Location and evidence are those of all rows at once, by a Gaussian process."""
    parts, df = phases(7, seed), 5.0
    given = GaussianUnknown(base_mean=[1.0, 2.0], kappa=KAPPA, df=df, scale=SCALE)
    family = GaussianMoving(given, START).resolved(np.zeros((3, 2)))
    row, total = family.base()[None], 0.0
    for t, rows in enumerate(parts):
        if t:
            row = family.moved(row, ConstantVelocity(NOISE, START))
        sums = family.sums(rows, np.zeros(len(rows), dtype=np.int64), 1)
        total += float(family.log_marginal(row, sums)[0])
        row = family.posterior(row, sums)
    of = np.repeat(np.arange(7), [len(rows) for rows in parts])
    Y = np.concatenate(parts) - [1.0, 2.0]
    K = path_covariance(7)
    G = K[np.ix_(of, of)] + np.eye(len(of))
    weight = np.linalg.solve(G, Y)
    centre = K[6, of] @ weight + [1.0, 2.0]
    np.testing.assert_allclose(family.means(row)[0], centre, rtol=1e-8)
    (part,) = (natural(row, block) for block in family.blocks())
    np.testing.assert_allclose(part.scale[0], SCALE + Y.T @ weight, rtol=1e-8)
    left = K[6, 6] - K[6, of] @ np.linalg.solve(G, K[of, 6])
    np.testing.assert_allclose(np.linalg.inv(part.precision)[0, 0, 0], left, rtol=1e-8)
    n, d = Y.shape
    from scipy.special import multigammaln

    expected = (
        multigammaln(0.5 * (df + n), d) - multigammaln(0.5 * df, d)
        - 0.5 * n * d * np.log(np.pi) - 0.5 * d * np.linalg.slogdet(G)[1]
        + 0.5 * df * np.linalg.slogdet(SCALE)[1]
        - 0.5 * (df + n) * np.linalg.slogdet(SCALE + Y.T @ weight)[1]
    )  # fmt: skip
    assert total == pytest.approx(expected, rel=1e-8)


def accelerating(seed: int, n_phases: int = 16) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two clusters that are ever faster, up to four standard deviations a phase."""
    rng, out = np.random.default_rng(seed), []
    for t in range(n_phases):
        centres = np.array([[0.15 * t * t, 0.0], [0.0, -9.0 - 0.15 * t * t]])
        label = rng.integers(2, size=40)
        out.append((centres[label] + rng.normal(size=(40, 2)), label))
    return out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_clusters_that_accelerate_keep_their_ids(seed: int, unit: float) -> None:
    """They are nine standard deviations apart, so that no row is in doubt."""
    model = DependentDPMixture(transition=ConstantVelocity(), n_sweeps=30, seed=seed)
    found, true = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixingWarning)
        for X, label in accelerating(seed):
            model.update(unit * X)
            found.append(model.labels_)
            true.append(label)
            model = loads(dumps(model))
    labels = np.concatenate(found)
    assert len(np.unique(labels)) == 2
    assert agreement(labels, np.concatenate(true)) > 0.99
    ids, velocity = model.velocity()
    order = np.argsort(velocity[:, 0])[::-1]
    expected = unit * np.array([[4.5, 0.0], [0.0, -4.5]])
    assert ids.shape == (2,)
    assert np.abs(velocity[order] - expected).max() < 1.5 * unit
    assert [len(one) for one in (model.forecast(2).id,)] == [2]


def test_the_next_phase_is_predicted_better() -> None:
    """By a nat a row at least, of four where the centre is not known ahead."""
    every = [X for X, _ in accelerating(1, 17)]
    scores = []
    for transition in (ConstantVelocity(), None):
        model = DependentDPMixture(transition=transition, n_sweeps=30, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MixingWarning)
            for X in every[:16]:
                model.update(X)
        scores.append(model.log_predictive(every[16], ahead=1).mean())
    assert scores[0] > scores[1] + 1.0


def test_the_family_follows_the_transition() -> None:
    made = DependentDPMixture(transition=ConstantVelocity(0.1, 2.0))
    assert isinstance(made.options.family, GaussianMoving)
    assert made.options.family.start == 2.0
    back = replace(made.options, transition=Discount(0.9))
    assert back.family == GaussianUnknown()
    grid = {"transition": [Discount(0.9), ConstantVelocity()]}
    model = DependentDPMixture(n_sweeps=6, burn_in=2, seed=1)
    scores = model.calibrate([X for X, _ in accelerating(1, 9)], grid)
    assert scores.best["transition"] == ConstantVelocity()


def test_velocities_are_asked_of_what_has_some() -> None:
    for family in (GaussianKnownVariance(), AffineFlow()):
        with pytest.raises(ValueError, match="transition must be a"):
            DependentDPMixture(family, transition=ConstantVelocity())
    plain = DependentDPMixture(n_sweeps=6, burn_in=2, seed=1)
    plain.update(accelerating(1, 1)[0][0])
    with pytest.raises(ValueError, match="velocity needs family=AffineFlow"):
        plain.velocity()
    for name, value in (("noise", 0.0), ("start", -1.0), ("noise", np.inf)):
        with pytest.raises(ValueError, match=f"{name} must be"):
            ConstantVelocity(**{name: value})
