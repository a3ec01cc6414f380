"""Transitions of the user's own: what they imitate and follow, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    Discount,
    DynamicFiniteMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    Multinomial,
    RandomWalk,
)

QUICK: dict[str, Any] = {"n_sweeps": 8, "burn_in": 2}
BASE = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=100.0)


def blobs(n_phases: int, angle: float = 0.0, width: int = 2) -> list[np.ndarray]:
    """Three blobs far from the origin, turned by an angle a phase; none in phase 2."""
    rng = np.random.default_rng(3)
    place = np.zeros((3, width))
    place[:, :2] = [[12.0, 0.0], [-8.0, 8.0], [0.0, -14.0]]
    turn = np.eye(width)
    turn[:2, :2] = turn_by(angle)
    phases = []
    for t in range(n_phases):
        phases.append(np.repeat(place[: 0 if t == 2 else 3], 25, axis=0))
        phases[-1] = phases[-1] + rng.normal(size=phases[-1].shape)
        place = place @ turn
    return phases


def turn_by(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


def walked(prior: Any, base: Any) -> Mapping[str, Any]:
    """`RandomWalk(0.3, reversion=0.75)`."""
    mean = base["mean"] + 0.75 * (prior["mean"] - base["mean"])
    return {"mean": mean, "variance": 0.75 * 0.75 * prior["variance"] + 0.3}


def discounted(prior: Any, base: Any, delta: float = 0.7) -> Mapping[str, Any]:
    """`Discount(0.7)`: natural parameters between those of base and prior."""
    if "beta" in prior:
        return {"beta": base["beta"] + delta * (prior["beta"] - base["beta"])}

    def mixed(df: str, precision: Any, mean: Any, scale: str) -> tuple[Any, ...]:
        ends = []
        for one in (base, prior):
            g, m = precision(one), mean(one)
            c = g @ m
            square = one[scale] + np.swapaxes(m, 1, 2) @ c
            ends.append((one[df], g, c, square))
        nu, g, c, w = (a + delta * (b - a) for a, b in zip(*ends, strict=True))
        m = np.linalg.solve(g, c)
        return nu, g, m, w - np.swapaxes(m, 1, 2) @ c

    nu, g, m, w = mixed(
        "df", lambda one: one["kappa"][:, None, None],
        lambda one: (one["mean"] - base["mean"])[:, None], "scale",
    )  # fmt: skip
    found = {"df": nu, "kappa": g[:, 0, 0], "mean": base["mean"] + m[:, 0], "scale": w}
    if "precision" in prior:
        nu, g, m, w = mixed(
            "velocity_df", lambda one: one["precision"],
            lambda one: one["coefficients"], "velocity_scale",
        )  # fmt: skip
        found |= {
            "velocity_df": nu, "precision": g, "coefficients": m, "velocity_scale": w
        }  # fmt: skip
    return found


def learned(family: Any, transition: Any, phases: Any, **more: Any) -> Any:
    model = DependentDPMixture(family, transition=transition, **QUICK | more)
    for rows in phases:
        model.update(rows)
    return model


FADING = {
    "unknown": (GaussianUnknown(), 2),
    "flow": (AffineFlow(), 4),
    "words": (Multinomial(0.3), 5),
}


@pytest.mark.parametrize("base", ["stationary", "moved"])
def test_an_imitated_random_walk_is_the_random_walk(base: str) -> None:
    """Bit for bit, where the base's mean is 0; histories of 2 are folded on the way."""
    phases = [*blobs(4), np.empty((0, 2)), *blobs(2)]
    more: dict[str, Any] = {"base": base, "history": 2}
    own = learned(BASE, walked, phases, **more)
    ours = learned(BASE, RandomWalk(0.3, 0.75), phases, **more)
    for name in ("row", "first", "m", "E", "alive"):
        one, other = (getattr(x._state.particles, name) for x in (own, ours))
        assert one.tobytes() == other.tobytes()
    assert own.labels_.tolist() == ours.labels_.tolist()
    ahead = own.log_predictive(phases[-1], ahead=2)
    assert ahead.tolist() == ours.log_predictive(phases[-1], ahead=2).tolist()
    id = int(own.particles().id[0])
    path, filtered = own.trajectory(id), ours.trajectory(id, smooth=False)
    assert not path.smooth
    assert path.mean.tolist() == filtered.mean.tolist()
    with pytest.raises(ValueError, match="under a function, which has no smoother"):
        own.trajectory(id, smooth=True)


@pytest.mark.parametrize("name", FADING)
def test_an_imitated_discount_is_the_discount(name: str) -> None:
    family, width = FADING[name]
    phases = blobs(4, width=width)
    if name == "words":
        phases = [np.round(np.abs(rows)) for rows in phases]
    own = learned(family, discounted, phases)
    ours = learned(family, Discount(0.7), phases)
    assert own.labels_.tolist() == ours.labels_.tolist()
    np.testing.assert_allclose(own.particles().mean, ours.particles().mean, rtol=1e-9)
    np.testing.assert_allclose(
        own.particles().covariance, ours.particles().covariance, rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("name", ["known", "rotated", *FADING])
def test_parameters_are_prior_rows_by_name(name: str) -> None:
    """There and back, for what is known after some rows."""
    rotated = GaussianKnownVariance([[2.0, 0.6], [0.6, 1.0]], [3.0, 1.0], 9.0)
    family, width = {"known": (BASE, 2), "rotated": (rotated, 2), **FADING}[name]
    X = np.round(np.abs(np.random.default_rng(1).normal(size=(30, width)) * 4.0))
    found: Any = family.resolved(X)
    sums = found.sums(X, np.arange(30) % 3, 3)
    rows = found.posterior(np.repeat(found.base()[None], 3, axis=0), sums)
    told = found.parameters(rows)
    np.testing.assert_allclose(found.with_parameters(told), rows, rtol=1e-9, atol=1e-9)
    same = found.moved(rows, lambda prior, base: prior)
    np.testing.assert_allclose(found.log_marginal(same, sums),
                               found.log_marginal(rows, sums), rtol=1e-9)  # fmt: skip
    if "mean" in told:
        d = told["mean"].shape[1]
        np.testing.assert_allclose(told["mean"], found.means(rows)[:, :d])


@pytest.mark.parametrize(
    "family", [BASE, GaussianUnknown(0.0, 0.05, 6.0, 3.0)], ids=["known", "unknown"]
)
def test_a_known_rotation_follows_blobs_that_a_random_walk_loses(family: Any) -> None:
    """A radian a phase is 11 to 14 standard deviations; a phase is empty."""
    turn, phases = turn_by(1.0), blobs(6, angle=1.0)

    def rotation(prior: Any, base: Any) -> Mapping[str, Any]:
        moved = dict(prior) | {"mean": prior["mean"] @ turn}
        if "scale" in prior:
            return moved | {"scale": turn.T @ prior["scale"] @ turn}
        return moved | {"variance": prior["variance"] + 0.01}

    own = learned(family, rotation, phases)
    assert own.lifelines().count.tolist() == 3 * [[25, 25, 0, 25, 25, 25]]
    assert len(learned(family, None, phases).lifelines()) > 3
    at = np.array([12.0, 0.0]) @ turn_by(7.0)
    ahead = own.forecast(2).mean[1]
    assert np.linalg.norm(ahead - at, axis=1).min() < 1.0
    fixed = DynamicFiniteMixture(3, BASE, transition=rotation, **QUICK)  # type: ignore[arg-type]
    assert len(np.unique(fixed.update(phases[0]).update(phases[1]).labels_)) == 3


def returns(**wrong: Any) -> Any:
    return lambda prior, base: dict(prior) | wrong


def spoiled(name: str, value: float) -> Any:
    """One entry of one particle is another."""

    def found(prior: Any, base: Any) -> Any:
        prior[name][-1, ..., -1] = value
        return prior

    return found


def failing(prior: Any, base: Any) -> Any:
    raise RuntimeError("no such law")


WRONG: list[tuple[Any, Any, str]] = [
    (BASE, lambda prior, base: prior["mean"], "transition must return a dict of mean"),
    (BASE, lambda prior, base: {"mean": 0}, "a dict of mean, variance; got .'mean'"),
    (BASE, returns(mean=np.zeros(2)), r"mean of shape \(3, 2\), as it was given; got"),
    (BASE, returns(mean="a"), "mean that transition returns must be rectangular"),
    (BASE, spoiled("mean", np.nan), "mean that is finite; got nan for particle 2 of 3"),
    (BASE, spoiled("variance", 0.0), "variance that is finite and > 0; got 0.0 for"),
    (BASE, spoiled("variance", -1.0), "variance that is finite and > 0; got -1.0"),
    (BASE, failing, "no such law"),
    (GaussianUnknown(), spoiled("scale", -9.0), "scale that is symmetric and positive"),
    (GaussianUnknown(), returns(df=np.full(3, 1.0)), "df > 1 for 2 columns; got 1.0"),
    (GaussianUnknown(), returns(kappa=np.zeros(3)), "kappa that is finite and > 0"),
    (GaussianUnknown(), returns(mean=np.full((3, 2), 1e200)), "squares are finite"),
    (Multinomial(0.1), spoiled("beta", 0.0), "beta that is finite and > 0; got 0.0"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "wrong", "said"), WRONG)
def test_bad_answers_are_refused_and_leave_the_model_as_it_was(
    family: Any, wrong: Any, said: str
) -> None:
    """The rule turns bad once a phase is learned."""
    phases = [np.round(np.abs(rows)) for rows in blobs(2)]
    phases[0][:25, 1] = 0.0
    state = {"bad": False}

    def rule(prior: Any, base: Any) -> Any:
        bad = state["bad"] and len(prior[next(iter(prior))]) == 3
        return wrong(prior, base) if bad else prior

    model = learned(family, rule, phases[:1])
    if model.n_clusters != 3:
        pytest.fail("the rules above are for three particles")
    before, labels = model._state, model.labels_.tolist()
    arrays = {k: v.tobytes() for k, v in vars(before.particles).items()}
    state["bad"] = True
    with pytest.raises((ValueError, RuntimeError), match=said):
        model.update(phases[1])
    assert model._state is before
    assert arrays == {k: v.tobytes() for k, v in vars(before.particles).items()}
    assert model.labels_.tolist() == labels
    state["bad"] = False
    assert model.update(phases[1]).n_phases == 2


def test_a_rule_that_is_wrong_from_the_start_is_told_in_the_first_phase() -> None:
    model = DependentDPMixture(BASE, transition=returns(variance=0.0), **QUICK)
    with pytest.raises(ValueError, match="variance of shape"):
        model.update([[1.0, 2.0]])
    assert (model.n_phases, model.is_ready) == (0, False)


def test_what_is_no_function_is_refused() -> None:
    for wrong in (RandomWalk, 0.1, Discount(0.9), "walk"):
        with pytest.raises(
            ValueError, match=r"RandomWalk for GaussianKnownVariance, o"
        ):
            DependentDPMixture(BASE, transition=wrong)  # type: ignore[arg-type]


def test_a_model_with_a_rule_of_ones_own_is_copied_but_not_saved(tmp_path: Any) -> None:
    phases = blobs(3)
    model = learned(BASE, walked, phases[:2])
    twin = model.copy().update(phases[2])
    assert twin.labels_.tolist() == model.copy().update(phases[2]).labels_.tolist()
    assert model.n_phases == 2
    for keep in (
        model.to_arrays, lambda: pickle.dumps(model),
        lambda: dyntree.save(model, tmp_path / "m.dyn"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="transition must be one of ours to be sa"):
            keep()
    assert not list(tmp_path.iterdir())
