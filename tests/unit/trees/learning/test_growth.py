"""Levels that come late: columns that begin with a row, and all that must hold then."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import AveragedStream, DynamicTree, StreamingTree
from dyntree.encoding.feature_map import FeatureMap, take
from dyntree.errors import UnseenLevelWarning
from dyntree.evaluate import prequential
from dyntree.trees import model as trees_model
from dyntree.trees.learning import growth, windows
from dyntree.trees.learning.growth import Growth
from tests.contract import check_twins, same_answers
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import Pressed, refused
from tests.unit.test_threads import together

N_ROWS = 150
SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}
MAKERS: dict[str, Callable[..., Any]] = {
    "constant": lambda **o: DynamicTree("constant", **SMALL, **o),
    "class": lambda **o: DynamicTree("class", classes=range(6), **SMALL, **o),
    "alc": lambda **o: StreamingTree("constant", window=30, **SMALL, **o),
    "drift": lambda **o: StreamingTree("constant", window=30, drift=True, **SMALL, **o),
    "entropy": lambda **o: StreamingTree(
        "class", window=30, discard="entropy", classes=range(6), **SMALL, **o
    ),
    "linear": lambda **o: StreamingTree("linear", window=30, **SMALL, **o),
    "average": lambda **o: AveragedStream(**SMALL | {"n_particles": 5}, **o),
}


def sparse(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of which the first rows have no value: of levels, of numbers, of none."""
    frame, y = late_levels(seed)
    frame.loc[:40, "site"] = None
    frame.loc[:25, "kind"] = None
    frame.insert(1, "count", np.where(np.arange(N_ROWS) < 31, np.nan, frame["x"]))
    frame["none"] = np.nan
    return frame, y


def sparse_stream_of(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Such columns, and responses that a maker's models take."""
    frame, y = sparse()
    if MAKERS[name]().is_classifier:
        y = (y // 3).clip(0, 5).astype(int)
    return frame, y


def late_levels(seed: int = 0, n: int = N_ROWS) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns of levels that come one after the other, gaps, and a response."""
    rng = np.random.default_rng(seed)
    k = np.minimum(rng.integers(6, size=n), np.arange(n) // 12)
    x = rng.random(n)
    site = np.array([*"zyxwvu"], dtype=object)[k]
    site[3::17] = None
    kind = np.where(np.arange(n) < 90, "p", "q")
    kind[60:70] = "r"
    frame = pd.DataFrame({"site": site, "x": x, "kind": kind})
    return frame, 3.0 * k + x + 0.1 * rng.standard_normal(n)


def stream_of(name: str, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Rows and what a model of that name is to learn of them."""
    frame, y = late_levels(seed)
    return frame, (y // 3).clip(0, 5).astype(int) if name in ("class", "entropy") else y


def fed(model: Any, frame: pd.DataFrame, y: Any, cuts: Any) -> Any:
    """The model after the rows, in calls that end at the cuts."""
    for first, last in zip([0, *cuts], [*cuts, len(y)], strict=True):
        model.update(frame[first:last], y[first:last])
    return model


# ------------------------------------------------------------ what comes of it
@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("make", [DynamicTree, StreamingTree])
def test_a_level_that_comes_late_is_told_apart(make: Any, model: str) -> None:
    """Levels a = 1 and b = 3 from the start, new = 10 from row 300, one at a time."""
    rng = np.random.default_rng(0)
    tree = make(model, n_particles=100, seed=1)
    means = {"a": 1.0, "b": 3.0, "new": 10.0}
    for k in range(600):
        level = [*means][rng.integers(2 if k < 300 else 3)]
        row = {"x": rng.random(), "g": level}
        tree.update(row, [means[level] + 0.1 * rng.standard_normal()])
    for level, mean in means.items():
        # counted as missing, "new" shared a leaf with "b": both near 5
        told = tree.predict({"x": 0.5, "g": level}).mean[0]
        assert told == pytest.approx(mean, abs=0.5), level


@pytest.mark.parametrize("name", MAKERS)
def test_columns_come_last_in_the_order_of_their_rows(name: str) -> None:
    frame, y = stream_of(name)
    tree = fed(MAKERS[name](), frame, y, [10]).tree
    cells = [(column, level) for row in frame[["site", "kind"]].to_dict("records")
             for column, level in row.items() if isinstance(level, str)]  # fmt: skip
    came = [f"{column}={level}" for column, level in dict.fromkeys(cells)]
    first = ["site=z", "x", "kind=p"]  # the others come from row 12 on
    assert len(came) == 9
    shared = ["site=y", "kind=r"]  # the second levels share the features of the first
    late = [title for title in came if title not in first + shared]
    assert tree.feature_names == (*first, *late)
    for column, places in tree.level_places.items():
        assert {tree.feature_names[k].partition("=")[0] for k in places} == {column}
    assert sum(map(len, tree.level_places.values())) == 7
    assert tree.importance().names == ("site", "x", "kind")
    assert tree.relevance().names == tree.feature_names
    label = {"label": 0} if tree.is_classifier else {}
    assert tree.sensitivity(n_samples=20, **label).inputs == ("site", "x", "kind")


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "average"])
def test_rows_held_are_as_the_columns_at_the_end_have_them(name: str) -> None:
    frame, y = stream_of(name)
    tree = fed(MAKERS[name](), frame, y, [10]).tree
    features = FeatureMap.from_header(tree.to_arrays()[0]["features"])
    held = frame.iloc[tree.active_ids]
    rows, _ = tree.frozen_view().rows()
    np.testing.assert_array_equal(rows, features.encode(held))
    low, high = tree.frozen_view().spans()
    if name != "drift":  # whose past fades
        levels = [k for places in tree.level_places.values() for k in places]
        assert low[levels].tolist() == [0.0] * 7
        assert high[levels].tolist() == [1.0] * 7


# ------------------------------------------------------------ cuts
@pytest.mark.parametrize(
    "cuts", [range(1, N_ROWS), range(7, N_ROWS, 7), [1], [3, 13, 95]]
)
@pytest.mark.parametrize("name", MAKERS)
def test_a_stream_may_be_cut_anywhere(name: str, cuts: Any) -> None:
    frame, y = stream_of(name)
    whole, parts = MAKERS[name](), MAKERS[name]()
    fed(whole, frame, y, [])
    assert model_bytes(fed(parts, frame, y, cuts)) == model_bytes(whole)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("form", ["records", "frame"])
def test_rows_may_come_in_any_form_and_order_of_columns(seed: int, form: str) -> None:
    frame, y = late_levels(seed)
    whole = fed(MAKERS["alc"](), frame, y, [])
    turned = frame[["kind", "site", "x"]]
    parts = MAKERS["alc"]().update(frame[:1], y[:1])
    rows = turned.to_dict("records") if form == "records" else turned
    for first in range(1, N_ROWS, 11):
        part = slice(first, min(first + 11, N_ROWS))
        parts.update(take(rows, part), y[part])
    assert model_bytes(parts) == model_bytes(whole)


@pytest.mark.parametrize("cuts", [range(1, N_ROWS), range(7, N_ROWS, 7), [1], [28]])
@pytest.mark.parametrize("name", MAKERS)
def test_columns_without_a_value_may_become_any(name: str, cuts: Any) -> None:
    frame, y = sparse_stream_of(name)
    whole = fed(MAKERS[name](), frame, y, [])
    assert model_bytes(fed(MAKERS[name](), frame, y, cuts)) == model_bytes(whole)
    site = f"site={frame['site'].dropna().iloc[0]}"
    names = whole.tree.feature_names
    assert names[:5] == (site, "count", "x", "kind=p", "none")
    for column, places in whole.tree.level_places.items():
        assert {names[k].partition("=")[0] for k in places} == {column}


@pytest.mark.parametrize("name", MAKERS)
def test_prequential_learns_columns_without_a_value_as_update_does(name: str) -> None:
    frame, y = sparse_stream_of(name)
    expected = MAKERS[name]()
    prequential(expected, frame, y, start=0)
    by_hand = fed(MAKERS[name](), frame, y, range(1, N_ROWS))
    assert model_bytes(expected) == model_bytes(by_hand)


def test_a_column_that_is_not_known_yet_takes_no_text_from_questions() -> None:
    frame, y = sparse()
    model = MAKERS["alc"]().update(frame[:20], y[:20])
    rows = frame[30:40]
    missing = rows.assign(site=None, kind=None)
    with same_bytes(model):
        with pytest.warns(UnseenLevelWarning, match="'kind'"):
            told = model.predict(rows)
        same_answers(told, model.predict(missing))
    ahead, responses = model.preview(frame[20:], y[20:])
    same_answers(model.predict(take(ahead, slice(10, 20))), model.predict(missing))
    assert len(responses) == N_ROWS - 20
    assert dyntree.checkpoint.loads(dyntree.checkpoint.dumps(model)).columns is not None
    numbers = frame[20:].assign(kind=1.5)
    with same_bytes(model), refused("X", "'r' in row 130"):
        model.update(pd.concat([numbers, frame[60:]]), np.append(y[20:], y[60:]))
    model.update(numbers, y[20:])
    with same_bytes(model), refused("X", "'kind'"):
        model.update(frame[60:], y[60:])
    with same_bytes(model), refused("X", "Preview them again"):
        model.update(ahead, responses)


def test_without_growth_such_a_column_counts_as_one_of_numbers() -> None:
    frame, y = sparse()
    model = MAKERS["alc"](new_levels="missing").update(frame[:20], y[:20])
    with same_bytes(model), refused("X", "in row 21"):
        model.update(frame[20:], y[20:])


@pytest.mark.parametrize("start", [0, 4, 50])
@pytest.mark.parametrize("name", MAKERS)
def test_prequential_learns_what_update_does(name: str, start: int) -> None:
    frame, y = stream_of(name)
    model = MAKERS[name]()
    seen = prequential(model, frame, y, start=start)
    cuts = [*[start][: start > 0], *range(max(1, start) + 1, N_ROWS)]
    by_hand = MAKERS[name]()
    assert model_bytes(fed(by_hand, frame, y, cuts)) == model_bytes(model)
    assert len(seen.y) > 90


@pytest.mark.parametrize("name", MAKERS)
def test_previewed_rows_are_foreseen_and_learned_as_rows_are(name: str) -> None:
    frame, y = stream_of(name)
    model = MAKERS[name]().update(frame[:30], y[:30])
    with same_bytes(model):
        ahead, responses = model.preview(frame[30:], y[30:])
    plain = model.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        expected = plain.predict(frame[30:])
    same_answers(model.predict(ahead), expected)
    for first in range(0, N_ROWS - 30, 8):
        part = slice(first, first + 8)
        model.update(take(ahead, part), responses[part])
    assert model_bytes(model) == model_bytes(plain.update(frame[30:], y[30:]))
    same_answers(model.predict(ahead), plain.predict(frame[30:]))
    early, _ = MAKERS[name]().update(frame[:30], y[:30]).preview(frame[:10], y[:10])
    same_answers(model.predict(early), plain.predict(frame[:10]))


def test_rows_previewed_by_a_model_that_went_elsewhere_are_refused() -> None:
    frame, y = late_levels()
    model = MAKERS["alc"]().update(frame[:12], y[:12])
    ahead, responses = model.preview(frame[30:], y[30:])
    model.update([{"site": "elsewhere", "x": 0.5, "kind": "p"}], [1.0])
    with same_bytes(model), refused("X", "Preview them again"):
        model.update(ahead, responses)


# ------------------------------------------------------------ copies and files
@pytest.mark.parametrize("name", MAKERS)
def test_copies_and_files_go_on_alike(name: str) -> None:
    frame, y = stream_of(name)
    model = MAKERS[name]()
    for cut in (5, 60, 65, 100):
        model.update(frame[model.n_seen : cut], y[model.n_seen : cut])
        check_twins(
            model.copy(), lambda twin, cut=cut: twin.update(frame[cut:], y[cut:])
        )


@pytest.mark.parametrize(
    "late",
    [[["moon", "a"]], [["site", "y"]], [["site", "w"], ["site", "w"]], [["site"]], [7]],
)
def test_a_broken_list_of_late_levels_is_refused(late: Any) -> None:
    frame, y = late_levels()
    model = MAKERS["constant"]().update(frame[:40], y[:40])
    header, arrays = model.to_arrays()
    header["features"] |= {"late": late}
    with pytest.raises((ValueError, TypeError)):
        DynamicTree.from_arrays(header, arrays)


# ------------------------------------------------------------ errors, interrupts
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n_before", [0, 4, 40])
def test_a_bad_row_later_in_a_call_leaves_all_as_it_was(
    name: str, n_before: int
) -> None:
    frame, y = stream_of(name)
    model = MAKERS[name]()
    if n_before:
        model.update(frame[:n_before], y[:n_before])
    bad = frame.copy()
    bad.loc[N_ROWS - 1, "x"] = np.inf
    rest = slice(n_before, None)
    with same_bytes(model), refused("X", f"row {N_ROWS - 1 - n_before}, column 'x'"):
        model.update(bad[rest], y[rest])
    labels = list(y)
    labels[-1] = None if model.is_classifier else np.nan
    with same_bytes(model), refused("y", f"row {N_ROWS - 1 - n_before}"):
        model.update(frame[rest], labels[rest])
    if not model.is_classifier and n_before == 40:
        far = 1e-10 * y, np.where(np.arange(N_ROWS) == N_ROWS - 1, 1e149, 1e-10 * y)
        tiny = MAKERS[name]().update(frame[:40], far[0][:40])
        with same_bytes(tiny), refused("y", "spreads of the first rows"):
            tiny.update(frame[rest], far[1][rest])
    fed(model, frame[rest], y[rest], [])
    cuts = [n_before] if n_before else []
    assert model_bytes(model) == model_bytes(fed(MAKERS[name](), frame, y, cuts))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("row", [24, 60])
def test_an_interrupt_leaves_the_columns_of_complete_rows(
    late: bool, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a row that brings a level is learned, or right after it was."""
    frame, y = late_levels()
    for name, place in (("constant", trees_model), ("drift", windows)):
        model = MAKERS[name]()
        learn = "learn_rows" if name == "constant" else "roll"
        call = getattr(place, learn)
        before = model_bytes(fed(MAKERS[name](), frame[:row], y[:row], []))
        after = model_bytes(fed(MAKERS[name](), frame[: row + 1], y[: row + 1], []))
        model.update(frame[:row], y[:row])
        width = len(model.tree.feature_names)
        with monkeypatch.context() as patch:
            patch.setattr(place, learn, Pressed(call, late))
            with pytest.raises(KeyboardInterrupt):
                model.update(frame[row : row + 1], y[row : row + 1])
        assert model_bytes(model) == (after if late else before)
        assert (len(model.tree.feature_names) > width) is late
        with monkeypatch.context() as patch:
            patch.setattr(growth, "widened", Pressed(growth.widened, True))
            if not late:
                with pytest.raises(KeyboardInterrupt):
                    model.update(frame[row:], y[row:])
                assert model_bytes(model) == before
        rest = slice(row + late, None)
        expected = fed(MAKERS[name](), frame, y, [])
        assert model_bytes(model.update(frame[rest], y[rest])) == model_bytes(expected)


def test_an_error_of_the_callers_leaves_complete_rows() -> None:
    frame, y = late_levels()

    def stop(done: int, total: int) -> None:
        if done > 70:
            raise RuntimeError

    model = MAKERS["alc"]()
    with pytest.raises(RuntimeError):
        model.update(frame, y, progress=stop)
    n = model.n_seen
    assert 70 < n < N_ROWS
    assert model_bytes(model) == model_bytes(fed(MAKERS["alc"](), frame[:n], y[:n], []))


def test_threads_find_the_model_between_two_rows() -> None:
    frame, y = late_levels()
    model = MAKERS["alc"]().update(frame[:12], y[:12])
    expected = fed(MAKERS["alc"](), frame, y, [])

    def work(k: int) -> None:
        for row in range(12, N_ROWS) if k == 0 else range(40):
            if k == 0:
                model.update(frame[row : row + 1], y[row : row + 1])
            else:
                told = model.predict(frame[row : row + 9])
                assert np.isfinite(told.mean).all()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        together(work, 4)
    assert model_bytes(model) == model_bytes(expected)


# ------------------------------------------------------------ questions
@pytest.mark.parametrize("name", MAKERS)
def test_questions_bring_no_columns(name: str) -> None:
    frame, y = stream_of(name)
    model = MAKERS[name]().update(frame[:30], y[:30])
    rows = [{"site": "moon", "x": 0.5, "kind": "p"}] * 2
    with same_bytes(model):
        with pytest.warns(
            UnseenLevelWarning, match="'site' that no row learned"
        ) as told:
            unseen = model.predict(rows)
        assert [warning.filename for warning in told] == [__file__]
        same_answers(model.predict([row | {"site": None} for row in rows]), unseen)


def test_rehearsals_and_frozen_models_bring_none_either() -> None:
    frame, y = late_levels()
    model = MAKERS["alc"]().update(frame[:40], y[:40])
    row = {"site": "moon", "x": 0.5, "kind": "p"}
    with same_bytes(model):
        seen = model.tree.rehearse(row, [3.0])
    assert seen is not None
    assert 0.0 < seen.ess <= 1.0
    model.freeze()
    with same_bytes(model):
        model.update(frame[40:], y[40:])


def test_the_recorder_and_repeats_take_them() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from dyntree.api.plots import Recorder

    frame, y = late_levels()
    noted = Recorder(MAKERS["alc"](), every=7).update(frame, y)
    assert model_bytes(noted.model) == model_bytes(fed(MAKERS["alc"](), frame, y, []))
    first, _ = dyntree.fit_repeats(MAKERS["constant"](), frame, y, 2, shuffle=False)
    assert len(first.feature_names) == 10


# ------------------------------------------------------------ the other rules
@pytest.mark.parametrize("name", MAKERS)
def test_late_levels_may_count_as_missing(name: str) -> None:
    frame, y = stream_of(name)
    model = MAKERS[name](new_levels="missing").update(frame[:30], y[:30])
    other, names = model.copy(), model.feature_names
    late = frame[30:].copy()
    known = [level.partition("=")[2] for level in names if level.startswith("site")]
    late["site"] = late["site"].where(late["site"].isin(known), None)
    late["kind"] = late["kind"].where(late["kind"] == "p", None)
    with pytest.warns(UnseenLevelWarning, match="'site'.* that are later") as told:
        model.update(frame[30:], y[30:])
    assert len(told) == 1
    assert model.feature_names == names
    assert model_bytes(model) == model_bytes(other.update(late, y[30:]))


@pytest.mark.parametrize("name", MAKERS)
def test_late_levels_may_be_an_error(name: str) -> None:
    frame, y = stream_of(name)
    model = MAKERS[name](new_levels="error").update(frame[:59], y[:59])
    told = "X must hold known levels in column 'kind'; got 'r' in row 1. .*'grow'"
    rows = frame[59:62].assign(site="z")
    for call in (
        lambda: model.update(rows, y[59:62]),
        lambda: model.predict(rows),
        lambda: model.preview(rows, y[59:62]),
    ):
        with same_bytes(model), pytest.raises(ValueError, match=told):
            call()
    model.update(rows[:1], y[59:60])
    named = MAKERS[name](new_levels="error", categories={"kind": ["p"]})
    with same_bytes(named), refused("X", "'r' in row 60. Add it to those named:"):
        named.update(frame, y)


@pytest.mark.parametrize("name", MAKERS)
def test_named_levels_are_all_that_a_column_takes(name: str) -> None:
    frame, y = stream_of(name)
    named = {"categories": {"site": ["z", "y"], "kind": ["q", "p"]}}
    model = fed(MAKERS[name](**named), frame, y, [50])
    assert model.feature_names == ("site=y", "x", "kind=p")


@pytest.mark.parametrize("name", ["constant", "alc", "class"])
def test_a_column_takes_so_many_levels(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, y = stream_of(name)
    for module in ("encoding.levels", "encoding.values"):
        monkeypatch.setattr(f"dyntree.{module}.MOST_LEVELS", 4)
    whole, parts = MAKERS[name](), MAKERS[name]()
    with pytest.warns(UnseenLevelWarning, match="more than 4 levels in column") as told:
        whole.update(frame, y)
    assert len(told) == 1
    assert len(whole.tree.levels["site"]) == 4
    with pytest.warns(UnseenLevelWarning, match="more than 4 levels in column") as told:
        fed(parts, frame, y, range(1, N_ROWS))
    assert len(told) == 1
    assert model_bytes(whole) == model_bytes(parts)
    fewer = frame.copy()
    fewer.loc[~fewer["site"].isin([*"zyxw"]), "site"] = None
    assert model_bytes(MAKERS[name]().update(fewer, y)) == model_bytes(whole)


# ------------------------------------------------------------ growth itself
def test_a_growth_says_what_there_is_at_a_row() -> None:
    maps = [FeatureMap(n, tuple("abcde"[:n]), allow_missing=True) for n in (2, 4, 5)]
    steps = [(2, maps[1]), (7, maps[2])]
    growth = Growth(maps[0], steps, lambda rows: np.pad(rows, ((0, 0), (0, 5))))
    assert growth.features is maps[2]
    known = [maps.index(growth.at(row)) for row in (0, 1, 2, 6, 7, 9)]
    assert known == [0, 0, 1, 1, 2, 2]
    assert [growth.steady(row, 9) for row in (0, 2, 6, 7)] == [2, 7, 7, 9]
    assert growth.steady(0, 1) == 1
    assert [row for row, _ in growth.since(3).steps] == [0, 4]
    assert [row for row, _ in growth.since(-3).steps] == [5, 10]
    assert growth.widen_to(4)(np.ones((1, 2))).tolist() == [[1.0, 1.0, 0.0, 0.0]]
    assert Growth(maps[0], [], maps[0].widen).features is maps[0]


@pytest.mark.parametrize("weighting", [None, "variance", "frequency"])
@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("intercept", ["implicit", "none"])
def test_a_late_column_is_one_that_was_0_until_then(
    model: str, weighting: str | None, intercept: str
) -> None:
    """Bit for bit, in trees of native rules: also what retired rows have left."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.random((80, 2)), np.zeros((80, 2))])
    y = X[:, 0] + rng.normal(0.0, 0.1, 80)
    weights = [] if weighting is None else [rng.integers(1, 4, 80).astype(float)]
    more = {"intercept": intercept} if model == "linear" else {}
    few, all_of_them = (
        StreamingTree(model, window=30, weighting=weighting, **SMALL, **more)
        .update(rows, y, *weights)
        .tree.state.cloud
        for rows in (X[:, :2], X)
    )
    expected = all_of_them.to_arrays()
    spans = expected[1]["spans"]
    found = few.with_columns(X[few.to_arrays()[1]["row_ids"]], spans).to_arrays()
    for name, value in expected[0].items():
        if name != "leaf_model":
            assert found[0][name] == value, name
    for name, value in expected[0]["leaf_model"].items():
        np.testing.assert_allclose(found[0]["leaf_model"][name], value, rtol=1e-14)
    for name, value in expected[1].items():
        if name == "leaf_sums":  # NaN: derived from the sums once it is wanted
            known = ~np.isnan(found[1][name] + value)
            ours, theirs = found[1][name][known], value[known]
            assert known.mean() > 0.8
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(found[1][name], value, err_msg=name)
