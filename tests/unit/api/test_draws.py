"""The DataTree holds what the particles say, in ArviZ's groups and by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import DynamicTree, __version__, fit_repeats
from dyntree.encoding.tables import table_of
from dyntree.summaries import ClassPrediction, Prediction
from tests.helpers import same_bytes
from tests.unit.models import MODELS, data, frame, grown, refused, stream

pytest.importorskip("xarray", reason="xarray is not installed: dyntree[xarray]")
from dyntree.api.draws import to_datatree
from dyntree.api.plots import Recorder

REAL = [name for name in MODELS if name != "class"]


@pytest.mark.parametrize("name", REAL)
def test_particles_make_up_the_prediction(name: str) -> None:
    model = grown(name)
    X, y = data(name, 7, seed=5)
    draws = to_datatree(model, X, y, seed=1)
    answer = model.predict(X)
    assert isinstance(answer, Prediction)
    posterior = draws.posterior
    location, scale, df, weight = (
        posterior[part].values[0] for part in ("location", "scale", "df", "weight")
    )
    assert location.shape == (20, 7)
    np.testing.assert_allclose(weight @ location, answer.mean, rtol=1e-12)
    np.testing.assert_allclose(weight @ df, answer.df, rtol=1e-12)
    with np.errstate(all="ignore"):
        var = weight @ (scale**2 * df / (df - 2.0)) + weight @ location**2
        var -= (weight @ location) ** 2
    np.testing.assert_allclose(var, answer.var, rtol=1e-7)
    density = np.log(weight @ np.exp(draws.log_likelihood.y.values[0]))
    np.testing.assert_allclose(density, answer.log_density(y), rtol=1e-10)
    np.testing.assert_array_equal(draws.observed_data.y, y)
    np.testing.assert_array_equal(draws.constant_data.X, X)
    stats = model.stats()
    assert posterior.height.mean() == stats.height
    assert posterior.n_leaves.mean() == stats.n_leaves
    np.testing.assert_array_equal(
        posterior.split_count.sum("feature"), posterior.n_leaves - 1
    )


def test_particles_make_up_the_probabilities() -> None:
    model = grown("class")
    X, y = data("class", 7, seed=5)
    draws = to_datatree(model, X, y, seed=1)
    answer = model.predict(X)
    assert isinstance(answer, ClassPrediction)
    proba = draws.posterior.proba
    assert proba.dims == ("chain", "draw", "row", "class")
    assert proba["class"].values.tolist() == list(answer.classes)
    np.testing.assert_allclose(proba.mean(("chain", "draw")), answer.proba, rtol=1e-12)
    seen = np.log(np.exp(draws.log_likelihood.y).mean(("chain", "draw")))
    np.testing.assert_allclose(seen, answer.log_density(y), rtol=1e-12)
    assert draws.observed_data.y.values.tolist() == y.tolist()
    assert {*np.ravel(draws.posterior_predictive.y)} <= {*answer.classes}


def test_what_happened_over_time_is_exported() -> None:
    X, y = data("constant", 60)
    recorders = [
        Recorder(DynamicTree(n_particles=20, seed=seed), 20).update(X, y)
        for seed in (1, 2)
    ]
    models, traces = zip(*((r.model, r.trace()) for r in recorders), strict=True)
    draws = to_datatree(models, X[:2], trace=traces, seed=1)
    stats = draws.sample_stats
    assert stats.time.values.tolist() == [20, 40, 60]
    for name in ("ess", "grow", "prune", "n_leaves", "log_evidence"):
        assert stats[name].dims == ("chain", "time")
        for k, trace in enumerate(traces):
            assert stats[name].values[k].tolist() == getattr(trace, name).tolist()
    alone = to_datatree(models[0], X[:2], trace=traces[0], seed=1)
    assert alone.sample_stats.sizes["chain"] == 1
    assert "sample_stats" not in to_datatree(models, X[:2], seed=1).children
    other = Recorder(models[0], 10).update(X[:20], y[:20]).trace()
    for wrong in (traces[0], [traces[0], 3], 3, [traces[0], other]):
        with pytest.raises(ValueError, match="trace must"):
            to_datatree(models, X[:2], trace=wrong)


def test_draws_come_from_their_particle() -> None:
    """Each uniform in law: the chance of a false alarm is below 1e-6."""
    model = DynamicTree(n_particles=2000, seed=1).update(*data("constant"))
    X = np.repeat([[0.2, 0.3], [0.9, 0.8]], 5, axis=0)
    draws = to_datatree(model, X, seed=2)
    from scipy import stats

    part = draws.posterior
    u = stats.t.cdf(
        draws.posterior_predictive.y, part.df, part.location, part.scale
    ).ravel()
    assert stats.kstest(u, "uniform").pvalue > 1e-6
    labels = DynamicTree("class", n_particles=2000, seed=1).update(*data("class"))
    drawn = to_datatree(labels, X, seed=2)
    hits = [
        (drawn.posterior_predictive.y.values == label).mean()
        for label in labels.classes or ()
    ]
    means = drawn.posterior.proba.mean(("chain", "draw", "row")).values
    assert np.all(np.abs(hits - means) < 5.0 * np.sqrt(0.25 / 20_000))


@pytest.mark.parametrize("name", ["constant", "augmented", "class"])
def test_means_are_joint_draws_and_responses_lie_about_them(name: str) -> None:
    """Of two like rows the means are equal in each draw, and responses differ.

    Means of 2000 draws are within 5 standard errors of the prediction. A
    product of signs is off by more than .12 with a probability below 1e-6.
    """
    model = grown(name, n_particles=2000)
    X = np.repeat(data(name, 3, seed=5)[0], 2, axis=0)
    draws = to_datatree(model, X, seed=1)
    mu = draws.posterior.mu
    np.testing.assert_array_equal(mu.values[:, :, ::2], mu.values[:, :, 1::2])
    answer = model.predict(X)
    if isinstance(answer, ClassPrediction):
        assert mu.dims == ("chain", "draw", "row", "class")
        told = mu.mean(("chain", "draw")).values
        np.testing.assert_allclose(told, answer.proba, atol=0.05)
        return
    assert mu.dims == ("chain", "draw", "row")
    off = draws.posterior_predictive.y - mu
    assert (off.values[:, :, ::2] != off.values[:, :, 1::2]).all()
    error = 5 * mu.values[0].std(axis=0) / np.sqrt(2000)
    assert (np.abs(mu.values[0].mean(axis=0) - answer.mean) < error).all()
    signs = np.sign(off.values[0])  # of heavy tails
    assert abs(np.mean(signs[:, 0] * signs[:, 1])) < 0.12


def test_repeats_are_chains_and_rows_keep_their_index() -> None:
    X, y = data("constant")
    table = frame(X, "pq")
    models = fit_repeats(DynamicTree(n_particles=20, seed=1), table, y, 3)
    some = table.iloc[[4, 2]].set_axis(["fourth", "second"], axis=0)
    draws = to_datatree(models, some, seed=1)
    assert dict(draws.posterior.sizes) == {
        "chain": 3, "draw": 20, "row": 2, "feature": 2,
    }  # fmt: skip
    assert draws.posterior.row.values.tolist() == ["fourth", "second"]
    assert draws.posterior.feature.values.tolist() == ["p", "q"]
    for k, model in enumerate(models):
        np.testing.assert_allclose(
            draws.posterior.location[k].mean("draw"), model.predict(some).mean
        )
    assert "log_likelihood" not in draws.children
    assert "observed_data" not in draws.children
    assert draws.attrs["seed"] == [model.seed for model in models]
    assert draws.attrs["inference_library"] == "dyntree"
    assert draws.attrs["inference_library_version"] == __version__
    assert "no Markov chain" in draws.attrs["note"]


def test_a_seed_fixes_the_draws_and_the_model_is_left_alone() -> None:
    model = stream("constant").update(*data("constant"))
    X, _ = data("constant", 4)
    with same_bytes(model):
        first, again, other = (to_datatree(model, X, seed=seed) for seed in (1, 1, 2))
    assert first.posterior_predictive.equals(again.posterior_predictive)
    assert not first.posterior_predictive.equals(other.posterior_predictive)


@pytest.mark.parametrize(
    ("labels", "names"),
    [((0, 1), [0, 1]), ((True, False), [True, False]), (("a", 1), ["a", "1"])],
)
def test_labels_keep_their_type_where_they_share_one(labels: Any, names: Any) -> None:
    X, _ = data("constant", 20)
    y = [labels[k % 2] for k in range(20)]
    model = DynamicTree("class", classes=labels, n_particles=20, seed=1).update(X, y)
    draws = to_datatree(model, X, y, seed=1)
    assert draws.posterior["class"].values.tolist() == names
    assert draws.observed_data.y.values.tolist() == [names[k % 2] for k in range(20)]


def test_bad_arguments_are_named() -> None:
    X, y = data("constant")
    model, other = grown("constant"), grown("augmented")
    few = grown("constant", n_particles=10)
    calls: list[tuple[tuple[Any, ...], str, str]] = [
        ((3, X), "model", "3"),
        (([model, 3], X), "model", "3"),
        (([], X), "model", "none"),
        (([model, other], X), "model", "'linear'"),
        (([model, few], X), "particles", "10"),
        ((model, X[:, :1]), "X", "1"),
        ((model, X, y[:5]), "y", "5"),
        ((grown("class"), X, ["z"] * 60), "y", "'z'"),
    ]
    for arguments, name, came in calls:
        with refused(name, came, model):
            to_datatree(*arguments)
    with refused("seed", "'one'", model):
        to_datatree(model, X, seed="one")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="to_datatree needs"):
        to_datatree(DynamicTree(rules="r"), X)


def test_repeats_that_met_levels_in_other_orders_are_chains() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    site = np.array([*"uvwxyz"])[np.arange(60) // 10]
    X = pd.DataFrame({"site": site, "a": np.arange(60) % 7})
    y = 1.0 * (np.arange(60) // 10)
    orders = [np.random.default_rng(k).permutation(60) for k in range(3)]
    repeats = [
        DynamicTree("constant", n_particles=20, seed=1).update(X.iloc[order], y[order])
        for order in orders
    ]
    names = [model.feature_names for model in repeats]
    assert len({*names}) > 1
    draws = to_datatree(repeats, X[:5], seed=1)
    assert tuple(draws.posterior.feature.values) == names[0]
    for k, model in enumerate(repeats):
        counts = model.frozen_view().split_counts()
        for name in names[0]:
            np.testing.assert_array_equal(
                draws.posterior.split_count.sel(chain=k, feature=name),
                counts[:, model.feature_names.index(name)],
            )


def test_results_of_formulas_are_exported() -> None:
    """As their trees are, of the features of raw data; repeats are chains."""
    pytest.importorskip("formulaic")
    import pandas as pd

    import dyntree.formula.api as dtf

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(60), "g": rng.choice(["u", "v"], 60)})
    table["y"] = table.x + (table.g == "u")
    fits = [
        dtf.dynamic_tree("y ~ x*g", table, n_particles=10, n_clouds=1, seed=seed).fit()
        for seed in (1, 2)
    ]
    new = table[:5].set_axis(list("abcde"))
    told = to_datatree(fits[0], new, new.y, seed=3)
    known = to_datatree(
        fits[0].tree, fits[0].design.encode(table_of(new)), new.y, seed=3
    )
    for group in ("posterior", "posterior_predictive", "log_likelihood"):
        for name, values in known[group].items():
            np.testing.assert_array_equal(told[group][name].values, values.values)
    assert told.posterior.row.values.tolist() == list("abcde")
    assert told.posterior.feature.values.tolist() == fits[0].exog_names
    assert to_datatree(fits, new, seed=1).posterior.mu.shape == (2, 10, 5)
    window = dtf.dynamic_tree("y ~ x", table, n_particles=10, window=20, seed=1).fit()
    assert to_datatree(window, {"x": 0.5}).posterior.mu.shape == (1, 10, 1)
    average = dtf.dynamic_tree("y ~ x", table, n_particles=10, n_clouds=2).fit()
    with pytest.raises(ValueError, match="model must be a DynamicTree"):
        to_datatree(average, new)
