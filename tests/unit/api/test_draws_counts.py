"""The DataTree of counts and of responses with an offset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import AveragedTrees, DynamicTree, StreamingTree, fit_repeats
from dyntree.errors import AssumedValueWarning
from tests.helpers import model_bytes
from tests.unit.api.frames import events
from tests.unit.models import refused

pytest.importorskip("xarray", reason="xarray is not installed: dyntree[xarray]")
from dyntree.api.draws import to_datatree

SMALL: dict[str, Any] = {"n_particles": 30, "seed": 1}
pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")


def counted(model: str) -> Any:
    data = events()
    make = DynamicTree if model == "negbin" else StreamingTree
    own = {} if model == "negbin" else {"window": 40}
    return make(model, **own, **SMALL).update(
        data[["x"]], data["k"], exposure=data["hours"]
    )


def results(formula: str, **more: Any) -> Any:
    pytest.importorskip("formulaic", reason="formulaic is not installed")
    import dyntree.formula.api as dtf

    return dtf.dynamic_tree(formula, events(), **{"n_clouds": 1} | SMALL | more).fit()


@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_particles_make_up_the_prediction_of_counts(model: str) -> None:
    tree, data = counted(model), events()[:9]
    before = model_bytes(tree)
    X, y, e = data[["x"]], data["k"], data["hours"]
    draws = to_datatree(tree, X, y, exposure=e, seed=1)
    told = tree.predict(X, exposure=e)
    posterior = draws.posterior
    assert {*posterior.data_vars} == {
        "weight", "height", "n_leaves", "split_count", "rate", "mu",
    }  # fmt: skip
    rate, weight = posterior.rate.values[0], posterior.weight.values[0]
    np.testing.assert_allclose(weight @ rate, told.rate, rtol=1e-12)
    density = np.log(weight @ np.exp(draws.log_likelihood.y.values[0]))
    np.testing.assert_allclose(density, told.log_density(y), rtol=1e-10)
    counts = draws.posterior_predictive.y.values
    assert np.all((counts >= 0) & (counts == np.floor(counts)))
    np.testing.assert_array_equal(draws.constant_data.exposure, e)
    np.testing.assert_array_equal(draws.observed_data.y, y)
    assert model_bytes(tree) == before


@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_draws_of_counts_have_the_moments_of_the_prediction(model: str) -> None:
    """Each mean within 5 of its standard errors: by chance 1e-6 a comparison."""
    tree, X = counted(model), [[0.2], [0.8]]
    parts = [to_datatree(tree, X, exposure=[0.5, 3.0], seed=k) for k in range(60)]
    told = tree.predict(X, exposure=[0.5, 3.0])
    for group, name, sd in (
        ("posterior", "mu", told.mean_se), ("posterior_predictive", "y", told.var**0.5),
    ):  # fmt: skip
        drawn = np.concatenate([part[group][name].values[0] for part in parts])
        error = 5.0 * sd / np.sqrt(len(drawn))
        np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - told.mean), error)


def test_an_exposure_is_one_by_default() -> None:
    tree = counted("negbin")
    plain = to_datatree(tree, [[0.2], [0.8]], seed=1)
    one = to_datatree(tree, [[0.2], [0.8]], exposure=1.0, seed=1)
    assert plain.constant_data.exposure.values.tolist() == [1.0, 1.0]
    np.testing.assert_array_equal(plain.posterior.mu, one.posterior.mu)
    ten = to_datatree(tree, [[0.2], [0.8]], exposure=10.0, seed=1)
    np.testing.assert_array_equal(plain.posterior.rate, ten.posterior.rate)
    assert ten.constant_data.exposure.values.tolist() == [10.0, 10.0]


def test_repeats_of_counts_are_chains() -> None:
    data = events()
    repeats = fit_repeats(DynamicTree("negbin", **SMALL), data[["x"]], data["k"], 2)
    draws = to_datatree(repeats, [[0.2]], [3], exposure=2.0, seed=1)
    assert draws.posterior.rate.shape == (2, 30, 1)
    assert draws.log_likelihood.y.shape == (2, 30, 1)


def test_results_of_counts_have_the_exposures_of_their_rows() -> None:
    fit = results("k ~ x", exposure="hours", model="negbin")
    new = events()[:5]
    draws = to_datatree(fit, new, new["k"], seed=1)
    told = fit.get_prediction(new).distribution
    np.testing.assert_allclose(draws.constant_data.exposure, new["hours"], rtol=1e-12)
    mean = draws.posterior.rate.values[0].mean(axis=0) * new["hours"].to_numpy()
    np.testing.assert_allclose(mean, told.mean, rtol=1e-12)
    density = np.log(np.exp(draws.log_likelihood.y.values[0]).mean(axis=0))
    np.testing.assert_allclose(density, told.log_density(new["k"]), rtol=1e-10)
    for passed in ("hours", new["hours"]):  # in place of the named column
        again = to_datatree(fit, new, exposure=passed, seed=1)
        np.testing.assert_array_equal(draws.posterior.mu, again.posterior.mu)
    by_value = results("k ~ x", exposure=events()["hours"].to_numpy(), model="negbin")
    asked = to_datatree(by_value, new, exposure="hours", seed=1)
    np.testing.assert_array_equal(draws.posterior.mu, asked.posterior.mu)
    with pytest.warns(AssumedValueWarning, match="exposure is 1"):
        plain = to_datatree(by_value, new, seed=1)
    np.testing.assert_array_equal(plain.constant_data.exposure, np.ones(5))


def test_results_with_an_offset_include_it() -> None:
    fit = results("y ~ x + offset(z)")
    new = events()[:5]
    draws = to_datatree(fit, new, new["y"], seed=1)
    told = fit.get_prediction(new).distribution
    z = new["z"].to_numpy()
    location = draws.posterior.location.values[0].mean(axis=0)
    np.testing.assert_allclose(location, told.mean, rtol=1e-10)
    density = np.log(np.exp(draws.log_likelihood.y.values[0]).mean(axis=0))
    np.testing.assert_allclose(density, told.log_density(new["y"]), rtol=1e-9)
    np.testing.assert_array_equal(draws.constant_data.offset, z)
    less = to_datatree(fit.tree, new[["x"]].to_numpy(), seed=1)
    np.testing.assert_allclose(
        draws.posterior.mu.values, less.posterior.mu.values + z, rtol=1e-12
    )
    drawn = less.posterior_predictive.y.values + z
    np.testing.assert_allclose(draws.posterior_predictive.y.values, drawn, rtol=1e-12)


def test_what_is_no_exposure_is_refused() -> None:
    tree, data = counted("negbin"), events()
    X = data[["x"]][:3]
    with refused("exposure", "0.0 in row 1"):
        to_datatree(tree, X, exposure=[1.0, 0.0, 1.0])
    with refused("exposure", "got 2"):
        to_datatree(tree, X, exposure=[1.0, 1.0])
    with refused("y", "2.5"):
        to_datatree(tree, X, [1.0, 2.5, 1.0])
    plain = DynamicTree(**SMALL).update(data[["x"]], data["y"])
    with refused("exposure", "real responses"):
        to_datatree(plain, X, exposure=1.0)
    with refused("exposure", "real responses"):
        to_datatree(results("y ~ x"), X, exposure=1.0)
    fit = results("k ~ x", exposure="hours", model="negbin")
    with pytest.raises(ValueError, match="hours"):
        to_datatree(fit, X)
    several = AveragedTrees("negbin", n_clouds=2, **SMALL)
    several.update(data[["x"]], data["k"])
    with refused("model", "AveragedTrees"):
        to_datatree(results("k ~ x", model="negbin", n_clouds=2), X)
    assert to_datatree(several, X).posterior.rate.shape == (2, 30, 3)  # its members
