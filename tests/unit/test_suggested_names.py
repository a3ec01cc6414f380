"""Every public class suggests a name for a wrong attribute and a wrong argument."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
import dyntree.formula.api as dtf
from dyntree import mixtures
from dyntree.api.multi_response import MultiResponseModel, MultiResponseResults
from dyntree.api.predictions import PredictionResults
from dyntree.api.results import DynamicTreeResults
from dyntree.evaluate import Prequential, prequential
from dyntree.runtime.records import Record

MODULES = {  # and the package without which a module cannot be imported
    "dyntree": "numpy", "dyntree.mixtures": "numpy", "dyntree.evaluate": "numpy",
    "dyntree.summaries": "numpy", "dyntree.formula.api": "numpy",
    "dyntree.api.estimators": "sklearn", "dyntree.api.adapters": "river",
}  # fmt: skip
OTHERS = (  # which calls return
    DynamicTreeResults, PredictionResults, MultiResponseModel, MultiResponseResults,
)  # fmt: skip
NO_CLASSES_OF_OURS = {
    "CustomTransition": "a protocol, which classes of users follow",
    "RowMixture": "abstract; its subclasses are asked",
    "Bracket": "a NamedTuple",
}
MADE_BY_US = {  # dataclasses, beside records, that methods return
    "CanopySweep", "EpochReport", "MemoryReport", "RowDistribution", "SweepReport",
}  # fmt: skip


def public_classes() -> Iterator[Any]:
    """One parameter for each class; those of missing packages are skipped."""
    for name, needed in MODULES.items():
        try:
            import_module(needed)
        except ImportError:
            reason = f"{needed} is not installed"
            yield pytest.param(None, id=name, marks=pytest.mark.skip(reason=reason))
            continue
        module = import_module(name)
        for one in (getattr(module, word) for word in module.__all__):
            if inspect.isclass(one) and one.__name__ not in NO_CLASSES_OF_OURS:
                yield pytest.param(one, id=f"{name}.{one.__name__}")
    for one in OTHERS:
        yield pytest.param(one, id=one.__name__)


CLASSES = [*public_classes()]


def blank(kind: Any) -> Any:
    """An object of a class, without its constructor."""
    made = object.__new__(kind)
    for field in fields(kind) if is_dataclass(kind) else ():
        object.__setattr__(made, field.name, None)
    return made


@pytest.mark.parametrize("kind", CLASSES)
def test_a_misspelt_attribute_gets_a_suggestion(kind: Any) -> None:
    made = blank(kind)
    longest = max((one for one in dir(made) if not one.startswith("_")), key=len)
    with pytest.raises(AttributeError) as caught:
        getattr(made, longest[:-1])
    assert f"Did you mean {longest}?" in str(caught.value)
    assert not hasattr(made, "qqqq")
    with pytest.raises(AttributeError) as caught:
        made.__qqqq__  # noqa: B018
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_misspelt_argument_of_a_constructor_gets_a_suggestion(kind: Any) -> None:
    if issubclass(kind, Record) or kind.__name__ in MADE_BY_US:
        assert is_dataclass(kind)  # an answer, which methods make
        return
    longest = max(inspect.signature(kind).parameters, key=len)
    with pytest.raises(TypeError) as caught:
        kind(**{longest[:-1]: 1})
    said = f"got an unexpected argument {longest[:-1]!r}. Did you mean {longest}?"
    assert str(caught.value) == f"{kind.__name__}() {said}"


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    x = np.linspace(0.0, 1.0, 40)
    data = {"x": x, "y": 2 * x, "w": x**2}
    model = dtf.dynamic_tree("y ~ x", data, n_particles=5, seed=1)
    fit = model.fit(progress=False)
    several = dtf.dynamic_tree("y + w ~ x", data, n_particles=5, seed=1)
    stream = dyntree.StreamingTree(n_particles=5, window=50, seed=1)
    return {
        "dtf": dtf, "model": model, "fit": fit, "prediction": fit.get_prediction(data),
        "several": several, "fits": several.fit(progress=False),
        "seen": prequential(stream, x[:, None], data["y"]),
        "labels": dyntree.DelayedLabels(stream),
    }  # fmt: skip


WRONG_ATTRIBUTES = [
    ("prediction", "mean", "Did you mean predicted_mean?"),
    ("prediction", "std", "Did you mean se_obs?"),
    ("prediction", "interval", "summary_frame(alpha=0.1)"),
    ("prediction", "cdf", "Did you mean distribution.cdf?"),
    ("fit", "plot", "Did you mean plot_partial?"),
    ("fit", "update", "Did you mean append?"),
    ("fit", "partial_fit", "Did you mean append?"),
    ("fit", "dump", "Did you mean save?"),
    ("model", "predict", "call fit(), and predict of what it returns"),
    ("several", "fitt", "Did you mean fit?"),
    ("fits", "summar", "Did you mean summary?"),
    ("dtf", "save", "fit.save(path)"),
    ("dtf", "dynamictree", "Did you mean dynamic_tree?"),
    ("seen", "rmse", "Did you mean scores.rmse?"),
    ("seen", "coverage", "Did you mean scores.coverage?"),
    ("seen", "error", "scores.error is of labels, scores.rmse of numbers"),
    ("labels", "update", "predict_later(key, row) takes a row"),
    ("labels", "n_seen", "Did you mean model.n_seen?"),
    ("labels", "save", "Did you mean dyntree.save(model, path)?"),
]


@pytest.mark.parametrize(("owner", "name", "said"), WRONG_ATTRIBUTES)
def test_names_of_other_packages_lead_to_ours(
    owner: str, name: str, said: str, objects: dict[str, Any]
) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(objects[owner], name)
    assert said in str(caught.value)


def test_what_has_no_file_is_not_said_to_be_saved(objects: dict[str, Any]) -> None:
    for name in ("seen", "prediction"):
        with pytest.raises(AttributeError) as caught:
            objects[name].save  # noqa: B018
        assert "dyntree.save" not in str(caught.value)


def test_what_adapters_say_of_saving_works(tmp_path: Path) -> None:
    pytest.importorskip("river", reason="river is not installed")
    from dyntree.api import adapters

    n_asked = 0
    for kind in (getattr(adapters, name) for name in adapters.__all__):
        said = ""
        try:
            blank(kind).save  # noqa: B018
        except AttributeError as error:
            said = str(error)
        if "dyntree.save(adapter.stream, path)" in said:
            dyntree.save(kind().stream, tmp_path / kind.__name__)
            n_asked += 1
        else:
            assert "dyntree.save" not in said
    assert n_asked == 6


WRONG_ARGUMENTS: list[tuple[Callable[[dict[str, Any]], Any], str, str]] = [
    (lambda made: made["prediction"].summary_frame, "level", "Did you mean alpha?"),
    (lambda made: made["prediction"].conf_int, "conf_level", "Did you mean alpha?"),
    (lambda made: made["model"].fit, "seed", "Pass seed to dynamic_tree()"),
    (lambda made: made["model"].fit, "random_state", "Pass seed to dynamic_tree()"),
    (lambda made: made["model"].fit, "n_trees", "Pass n_particles to dynamic_tree()"),
    (lambda made: made["model"].fit, "verbose", "Did you mean progress?"),
    (lambda made: made["several"].fit, "seed", "Pass seed to dynamic_tree()"),
    (lambda made: made["fits"].get_prediction, "newdata", "Did you mean exog?"),
    (lambda made: dyntree.AveragedStream().update, "w", "Did you mean sample_weight?"),
    (lambda made: dyntree.ChangeAlarm, "rate", "Did you mean false_alarm_rate?"),
    (lambda made: mixtures.HDPOptions, "max_sweep", "Did you mean max_sweeps?"),
]


@pytest.mark.parametrize(("method", "name", "said"), WRONG_ARGUMENTS)
def test_arguments_of_other_packages_lead_to_ours(
    method: Callable[[dict[str, Any]], Any],
    name: str,
    said: str,
    objects: dict[str, Any],
) -> None:
    with pytest.raises(
        TypeError, match=rf"\(\) got an unexpected argument '{name}'"
    ) as e:
        method(objects)(**{name: 1})
    assert said in str(e.value)


def test_suggestions_leave_copies_and_pickles_as_they_were(
    objects: dict[str, Any],
) -> None:
    for name in ("model", "fit", "prediction", "fits", "seen", "labels"):
        one = objects[name]
        pickled = pickle.loads(pickle.dumps(one))
        for again in (copy.copy(one), copy.deepcopy(one), pickled):
            assert type(again) is type(one)
            assert {*vars(again)} == {*vars(one)}
    assert {one.name for one in fields(Prequential)} == {*vars(objects["seen"])}
