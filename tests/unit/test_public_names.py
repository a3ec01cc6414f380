"""What a prompt shows of models and answers, and what it says of a wrong name."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
import dyntree.formula.api as dtf
from dyntree import checkpoint, evaluate, mixtures, params, summaries
from dyntree.api.formula import DynamicTreeModel
from dyntree.api.results import DynamicTreeResults
from dyntree.runtime.records import Record, in_short
from dyntree.trees.base import INTERNAL, TreeModel
from tests.property import subjects

LONGEST = 400  # characters, five lines of a terminal

WRONG_ARGUMENTS = [
    (dyntree.DynamicTree, "random_state", "seed"),
    (dyntree.DynamicTree, "n_trees", "n_particles"),
    (dyntree.DynamicTree, "N", "n_particles"),
    (dyntree.DynamicTree, "minp", "min_leaf"),
    (dyntree.StreamingTree, "window_size", "window"),
    (dyntree.StreamingTree, "n_estimators", "n_particles"),
    (dyntree.StreamingTree, "forgt", "forget"),
    (dyntree.AveragedStream, "random_state", "seed"),
    (dyntree.AveragedTrees, "n_models", "n_clouds"),
    (dyntree.RandomTreesStream, "n_estimators", "n_trees"),
    (mixtures.OnlineDPGMM, "lambda", "lambda_"),
    (mixtures.Canopy, "n_clusters", "n_components"),
    (mixtures.MemoryBoundedHDP, "n_topics", "max_topics"),
    (mixtures.OnlineDPMPPCA, "max_cluster", "max_clusters"),
]
WRONG_METHODS = [
    ("fit", "update"), ("partial_fit", "update"), ("predict_proba", "predict(X).proba"),
    ("feature_importances_", "importance"), ("relevence", "relevance"),
    ("save", "dyntree.save(model, path)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "meant"), WRONG_ARGUMENTS)
def test_a_wrong_argument_gets_a_suggestion(kind: Any, name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"'{name}'. Did you mean {meant}") as caught:
        kind(**{name: 1})
    assert str(caught.value).startswith(f"{kind.__name__}() got an unexpected")


MODELS = [
    kind
    for kind in (*vars(dyntree).values(), *vars(mixtures).values(), DynamicTreeModel,
                 DynamicTreeResults)
    if inspect.isclass(kind) and hasattr(kind, "predict") and hasattr(kind, "__init__")
    and not issubclass(kind, Record)
]  # fmt: skip


@pytest.mark.parametrize("kind", dict.fromkeys(MODELS))
def test_methods_suggest_names_or_list_them(kind: type) -> None:
    blank, n_asked = kind.__new__(kind), 0
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        own = [*inspect.signature(method).parameters.values()][1:]
        is_ours = method.__module__.startswith("dyntree")  # not of Sequence
        if name.startswith("_") or name in INTERNAL or not (own and is_ours):
            continue
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in own):
            continue
        with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected") as caught:
            getattr(blank, name)(**{own[-1].name + "_s": 1})
        remedies = r"Did you mean \w+\?|Its arguments are|lists its arguments"
        assert re.search(remedies, str(caught.value))
        n_asked += 1
    assert n_asked >= 3


def test_faces_and_formulas_suggest_names_too() -> None:
    data = {"y": [1.0, 2.0], "a": [1.0, 2.0]}
    with pytest.raises(TypeError, match=r"'random_state'\. Did you mean seed"):
        dtf.dynamic_tree("y ~ a", data, random_state=1)
    with pytest.raises(TypeError, match=r"dynamic_tree\(\).*Did you mean n_particles"):
        dtf.dynamic_tree("y ~ a", data, particles=10)
    with pytest.raises(
        TypeError, match=r"cross_val\(\).*'folds'\. Did you mean n_folds"
    ):
        dtf.cross_val("y ~ a", data, folds=3)
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from dyntree.api.estimators import DynamicTreeRegressor

    with pytest.raises(TypeError, match=r"'seed'\. Did you mean random_state"):
        DynamicTreeRegressor(seed=1)


@pytest.mark.parametrize(("name", "meant"), WRONG_METHODS)
def test_a_wrong_attribute_gets_a_suggestion(name: str, meant: str) -> None:
    model = dyntree.DynamicTree(n_particles=2, seed=1)
    with pytest.raises(AttributeError) as caught:
        getattr(model, name)
    assert f"Did you mean {meant}?" in str(caught.value)
    assert not hasattr(model, "qqqq")
    assert copy.copy(model).seed == pickle.loads(pickle.dumps(model)).seed == 1


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pvalues", "conf_int"),
        ("aic", "llf"),
        ("rsquare", "rsquared"),
        ("slopes", "avg_comparisons"),
    ],
)
def test_results_suggest_what_trees_have(name: str, meant: str) -> None:
    data = {"y": [1.0, 2.0, 3.0], "a": [1.0, 2.0, 3.0]}
    fit = dtf.dynamic_tree("y ~ a", data, n_particles=2, seed=1).fit()
    with pytest.raises(AttributeError, match=rf"Did you mean {meant}\?"):
        getattr(fit, name)
    assert pickle.loads(pickle.dumps(fit)).nobs == copy.copy(fit).nobs == 3


def test_results_say_where_intervals_are() -> None:
    """Quantiles of the means that predict() returns would be others."""
    data = {"y": [1.0, 2.0, 3.0], "a": [1.0, 2.0, 3.0]}
    fit = dtf.dynamic_tree("y ~ a", data, n_particles=2, seed=1).fit()
    for name in ("predict_interval", "predict_quantiles", "predict_proba"):
        with pytest.raises(AttributeError, match=r"get_prediction\(X\)\.summary_frame"):
            getattr(fit, name)


def test_classes_of_other_modules_are_located() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    with pytest.raises(AttributeError, match=r"it is in dyntree\.api\.estimators"):
        dyntree.DynamicTreeRegressor  # noqa: B018
    with pytest.raises(AttributeError, match=r"it is in dyntree\.mixtures"):
        dyntree.OnlineDPGMM  # noqa: B018
    with pytest.raises(AttributeError, match=r"it is in dyntree\.formula\.api"):
        dyntree.dynamic_tree  # noqa: B018
    with pytest.raises(AttributeError, match=r"it is in dyntree\.datasets"):
        dyntree.load_mcycle  # noqa: B018
    with pytest.raises(AttributeError, match=r"; import dyntree\.api\.adapters"):
        dyntree.river  # noqa: B018
    assert dyntree.datasets.load_mcycle is not None
    assert not hasattr(dyntree, "Nothing")
    assert not hasattr(dyntree, "nothing")
    assert not hasattr(dyntree, "nothing.more")


def test_an_argument_that_no_other_resembles_gets_a_way_on() -> None:
    with pytest.raises(TypeError, match=r"help\(AveragedTrees\) lists its arguments"):
        dyntree.AveragedTrees(width=10)  # type: ignore[call-arg]


@pytest.mark.parametrize("package", [evaluate, checkpoint, summaries, params, mixtures])
def test_packages_list_their_own_names(package: Any) -> None:
    assert set(dir(package)) == set(package.__all__)


def test_dir_shows_what_users_call() -> None:
    names = {n for n in dir(dyntree.DynamicTree(seed=1)) if not n.startswith("_")}
    assert {"update", "predict", "posterior_draws", "retire", "importance"} <= names
    assert not names & {"states", "draw_blocks", "of_state", "exclusive", "to_arrays"}
    assert len(names) < 40


TABLE = Path(__file__).with_name("public_names.txt")
MODULES = (dyntree, mixtures, summaries, evaluate)


def listing() -> str:
    """Arguments and public attributes of all public classes, one class a paragraph."""
    lines = []
    for module in MODULES:
        for name in sorted(module.__all__):
            kind = getattr(module, name)
            if not inspect.isclass(kind) or getattr(kind, "_is_protocol", False):
                continue
            arguments = ", ".join(inspect.signature(kind).parameters)
            names = ", ".join(n for n in sorted(vars_of(kind)) if not n.startswith("_"))
            lines.append(f"{module.__name__}.{name}({arguments})\n    {names}\n")
    return "\n".join(lines)


def vars_of(kind: type) -> set[str]:
    """Names of a class that users see: those of its bases, too, but internal ones."""
    hidden = INTERNAL if issubclass(kind, TreeModel) else frozenset()
    found = {name for base in kind.__mro__[:-1] for name in vars(base)}
    return found - hidden


def test_names_of_public_classes_are_those_that_are_listed() -> None:
    """One word for one thing: who adds or changes a name looks at the list."""
    said = TABLE.read_text(encoding="utf-8")
    assert listing() == said, "run python -m tests.unit.test_public_names, and look"


WORDS = {  # what is called otherwise elsewhere -> the one word here
    "n_threads": "threads", "random_state": "seed", "n_jobs": "threads",
}  # fmt: skip


def test_one_thing_has_one_name() -> None:
    for module in (dyntree, mixtures):
        for name in module.__all__:
            kind = getattr(module, name)
            if inspect.isclass(kind):
                wrong = WORDS.keys() & inspect.signature(kind).parameters.keys()
                assert not wrong, (name, wrong)
                assert not hasattr(kind, "n_threads"), name


def answers() -> Iterator[Any]:
    """Models, and all that they answer."""
    rng = np.random.default_rng(1)
    X = rng.random((60, 2))
    y = X[:, 0] + rng.normal(0.0, 0.1, 60)
    for subject in subjects.SUBJECTS.values():
        rows, responses = subject.rows(np.random.default_rng(11), 80)
        yield subject.learned(rows, responses)
    tree = dyntree.DynamicTree(n_particles=20, seed=1).update(X, y, progress=False)
    yield from (tree.predict(X), tree.importance(), tree.relevance(), tree.stats())
    yield from (tree.posterior_draws(X, 10, seed=1), tree.frozen_view())
    labels = (y > 0.5).astype(str)
    for kind in (dyntree.StreamingTree, dyntree.AveragedStream):
        model = kind("class", n_particles=20, seed=1).update(X, labels, progress=False)
        yield from (model, model.predict(X), model.frozen_view())
    counts = dyntree.StreamingTree("poisson", n_particles=20, seed=1)
    yield counts.update(X, rng.poisson(2.0, 60), progress=False).predict(X)
    seen = evaluate.prequential(counts, X, rng.poisson(2.0, 60), progress=False)
    yield from (seen, seen.scores)
    data = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, z=np.exp(y))
    fit = dtf.dynamic_tree("np.log(z) ~ a + b", data, n_particles=20, seed=1).fit()
    yield from (fit.model, fit, fit.get_prediction(data), fit.sensitivity())
    yield fit.get_prediction(data, back_transform=True)
    yield dtf.dynamic_tree("y + z ~ a", data, n_particles=20, seed=1)


@pytest.mark.filterwarnings("ignore")  # of fits that are short
def test_representations_fit_a_prompt() -> None:
    for answer in answers():
        text = repr(answer)
        assert " at 0x" not in text
        assert len(text) <= LONGEST, text


def test_forests_are_not_counted_as_clouds() -> None:
    model = dyntree.AveragedStream(n_particles=10, seed=1)
    n_forests = sum(isinstance(m, dyntree.RandomTreesStream) for m in model.members)
    n_clouds = len(model.members) - n_forests
    assert f"{n_clouds} clouds of 10 particles, {n_forests} forest" in repr(model)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros((3, 2)), "array of shape (3, 2)"), (1.25, "1.25"), (None, "None"),
        (np.array([1 / 3, 2e-7, np.nan]), "[0.3333, 2e-07, nan]"),
        (np.arange(9.0), "array of shape (9,)"), (np.array([123456]), "[123456]"),
        (np.array(["u"]), "array of shape (1,)"), (np.ones(0), "array of shape (0,)"),
        (np.float64(0.5), "0.5"), ("u", "'u'"), (True, "True"),
        (("a", "b"), "('a', 'b')"),
        (list("abcdef"), "list of 6"), ({"a": 1}, "dict of 1"), (7, "7"),
        (Record(), "<Record>"), (object(), "<object>"), (("x" * 99,), "tuple of 1"),
    ],
)  # fmt: skip
def test_fields_are_short(value: Any, text: str) -> None:
    assert in_short(value) == text


if __name__ == "__main__":
    TABLE.write_text(listing(), encoding="utf-8")
