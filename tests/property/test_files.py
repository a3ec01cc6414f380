"""What is saved is loaded and continues: every model, every option."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dyntree.checkpoint.models import KINDS, dumps, kind_named, loads
from dyntree.mixtures import HDPOptions
from dyntree.mixtures.canopy.options import CanopyOptions
from tests.kinds import KIND, SWEEPS, TOPICS, Options

ELSEWHERE = {  # kinds whose files are tested there: they learn otherwise
    "ChangeAlarm": "tests/unit/evaluate/test_alarm.py",
    "DelayedLabels": "tests/unit/evaluate/test_delayed.py",
    "Running": "tests/unit/mixtures/canopy/test_model.py",
    "CoverTree": "tests/unit/mixtures/test_cover_tree.py",
}


# ------------------------------------------------------------ the tests
def made(kind: str, options: Options) -> Any:
    """A model of these options; None where they exclude one another."""
    make, common, _, _, _ = KIND[kind]
    try:
        return make(**common | options)
    except ValueError:
        return None


def continues(kind: str, options: Options) -> bool:
    """Whether the options can be learned with; if so, files of it are tested.

    They are written before any row, after a few, and after more.
    """
    model, learn = made(kind, options), KIND[kind][-1]
    if model is None:
        return False
    whole = KIND[kind][1] | options
    for part in range(3):
        saved = dumps(model)
        again = loads(saved)
        assert dumps(again) == saved
        try:
            learn(model, whole, part)
        except ValueError:
            assert part == 0, "what cannot be learned is told at the first rows"
            return False
        learn(again, whole, part)
        assert dumps(again) == dumps(model)
    return True


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_every_kind_of_file_is_tested() -> None:
    assert None not in [kind_named(name) for name in ELSEWHERE]
    ours = {
        name for name, kind in KINDS.items() if kind.__module__.startswith("dyntree.")
    }
    assert {*KIND} | {*ELSEWHERE} == ours  # the bridge's own file is tested beside it
    here = Path(__file__).parents[2]
    assert all((here / path).exists() for path in ELSEWHERE.values())


@pytest.mark.parametrize("kind", KIND)
def test_every_option_is_among_them(kind: str) -> None:
    make, common, _, values, _ = KIND[kind]
    names = {*inspect.signature(make).parameters}
    assert {*values} == names
    assert {*common} <= names
    assert {*TOPICS} == {*inspect.signature(HDPOptions).parameters}
    assert {*SWEEPS} == {*inspect.signature(CanopyOptions).parameters}


# kinds whose files have many models in them
AVERAGES = "AveragedStream", "AveragedTrees", "KeyedStream"
EACH = [
    pytest.param(
        kind,
        name,
        value,
        id=f"{kind}-{name}-{k}",
        marks=pytest.mark.slow if kind in AVERAGES else (),
    )
    for kind, (_, _, _, values, _) in KIND.items()
    for name, some in values.items()
    for k, value in enumerate(some)
]


@pytest.mark.parametrize(("kind", "name", "value"), EACH)
def test_a_model_of_any_option_continues(kind: str, name: str, value: Any) -> None:
    contexts = [context | {name: value} for context in KIND[kind][2]]
    assert sum(continues(kind, options) for options in contexts) > 0


@pytest.mark.parametrize("kind", KIND)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_a_model_of_several_options_continues(kind: str, draw: st.DataObject) -> None:
    _, _, contexts, values, _ = KIND[kind]
    options = dict(draw.draw(st.sampled_from(contexts)))
    names = draw.draw(st.lists(st.sampled_from([*values]), max_size=4, unique=True))
    for name in names:
        options[name] = draw.draw(st.sampled_from(values[name]))
    assume(continues(kind, options))


@pytest.mark.usefixtures("drawn_seeds")
@pytest.mark.parametrize("kind", [kind for kind in KIND if "seed" in KIND[kind][3]])
def test_a_drawn_seed_is_saved(kind: str) -> None:
    one, other = (made(kind, {"seed": None}) for _ in range(2))
    assert one.seed != other.seed  # fails once in 2^31
    assert continues(kind, {"seed": None})
